import com.espertech.esper.common.client.EPCompiled;
import com.espertech.esper.common.client.configuration.Configuration;
import com.espertech.esper.compiler.client.CompilerArguments;
import com.espertech.esper.compiler.client.EPCompilerProvider;
import com.espertech.esper.runtime.client.EPEventService;
import com.espertech.esper.runtime.client.EPRuntime;
import com.espertech.esper.runtime.client.EPRuntimeProvider;
import com.espertech.esper.runtime.client.EPStatement;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Stream;

/**
 * Runs a statement of Esper over the benchmark's events; `esper.py` compiles and starts it.
 *
 * <p>EsperMatch FILES WARM_UP STATEMENT DELAY_MILLISECONDS THREADS REPEAT prints, for the warm-up and for each run, a line
 * `seconds matches`. Each thread has a runtime and the keys that leave its number when divided by the number of threads.
 * It reads all files itself and parses no more of a row of another thread than its key. Rows wait in a buffer until one
 * that is DELAY_MILLISECONDS younger is there, and are sent to Esper in the order of their time.
 */
public final class EsperMatch {
    private static final long MILLISECONDS_A_DAY = 86_400_000L;

    /** A row of the events. */
    public static final class Event {
        private final long ts;
        private final long key;
        private final double price;
        private final String kind;

        Event(long ts, long key, double price, String kind) {
            this.ts = ts;
            this.key = key;
            this.price = price;
            this.kind = kind;
        }

        public long getTs() {
            return ts;
        }

        public long getKey() {
            return key;
        }

        public double getPrice() {
            return price;
        }

        public String getKind() {
            return kind;
        }
    }

    /** Rows in the order of their time: a ring into which a row is laid from behind, past those that are younger. */
    private static final class Reordering {
        private Event[] ring = new Event[1 << 15];
        private int first;
        private int size;
        private long greatest = Long.MIN_VALUE;

        void add(Event event) {
            if (size == ring.length) {
                Event[] larger = new Event[2 * ring.length];
                for (int i = 0; i < size; i++) {
                    larger[i] = at(i);
                }
                ring = larger;
                first = 0;
            }
            int mask = ring.length - 1;
            int place = first + size++;
            while (place > first && ring[(place - 1) & mask].ts > event.ts) {
                ring[place & mask] = ring[(place - 1) & mask];
                place--;
            }
            ring[place & mask] = event;
            greatest = Math.max(greatest, event.ts);
        }

        /** Returns the first row if its time is at or before the bound, or null. */
        Event poll(long bound) {
            if (size == 0 || at(0).ts > bound) {
                return null;
            }
            Event event = at(0);
            ring[first & (ring.length - 1)] = null;
            first = (first + 1) & (ring.length - 1);
            size--;
            return event;
        }

        private Event at(int index) {
            return ring[(first + index) & (ring.length - 1)];
        }
    }

    /** One thread's share: its runtime, its buffer and how many matches it has seen. */
    private static final class Share implements Callable<Long> {
        private final List<Path> files;
        private final int number;
        private final int of;
        private final long delay;
        private final EPEventService events;
        private final Reordering waiting = new Reordering();
        private long matches;
        private String day = "";
        private long dayBegins;

        Share(List<Path> files, String statement, long delay, int number, int of) throws Exception {
            this.files = files;
            this.number = number;
            this.of = of;
            this.delay = delay;
            Configuration configuration = new Configuration();
            configuration.getCommon().addEventType("Event", Event.class);
            configuration.getRuntime().getThreading().setInternalTimerEnabled(false);
            EPCompiled compiled =
                    EPCompilerProvider.getCompiler().compile(statement, new CompilerArguments(configuration));
            EPRuntime runtime = EPRuntimeProvider.getRuntime("share " + number, configuration);
            runtime.initialize();
            EPStatement deployed = runtime.getDeploymentService().deploy(compiled).getStatements()[0];
            deployed.addListener((inserted, removed, source, engine) -> matches += inserted.length);
            events = runtime.getEventService();
        }

        @Override
        public Long call() throws IOException {
            for (Path file : files) {
                read(Files.readAllBytes(file));
            }
            send(Long.MAX_VALUE);
            return matches;
        }

        private void read(byte[] bytes) {
            int begin = 0;
            while (begin < bytes.length) {
                int place = begin;
                while (bytes[place] != ',') {
                    place++;
                }
                int afterTime = place++;
                long key = 0;
                for (; bytes[place] != ','; place++) {
                    key = 10 * key + bytes[place] - '0';
                }
                int price = place + 1;
                while (place < bytes.length && bytes[place] != '\n') {
                    place++;
                }
                if (key % of == number) {
                    accept(bytes, begin, afterTime, key, price, place);
                }
                begin = place + 1;
            }
        }

        private void accept(byte[] bytes, int begin, int afterTime, long key, int price, int end) {
            int comma = end;
            while (bytes[comma - 1] != ',') {
                comma--;
            }
            double amount = Double.parseDouble(new String(bytes, price, comma - 1 - price, StandardCharsets.ISO_8859_1));
            String kind = new String(bytes, comma, end - comma, StandardCharsets.ISO_8859_1);
            waiting.add(new Event(time(bytes, begin, afterTime), key, amount, kind));
            send(waiting.greatest - delay);
        }

        private void send(long bound) {
            for (Event event = waiting.poll(bound); event != null; event = waiting.poll(bound)) {
                events.sendEventBean(event, "Event");
            }
        }

        /** Reads `2026-01-01 00:00:00.000`; the day is that of the row before, nearly always. */
        private long time(byte[] bytes, int begin, int end) {
            if (!sameDay(bytes, begin)) {
                day = new String(bytes, begin, 10, StandardCharsets.ISO_8859_1);
                dayBegins = java.time.LocalDate.parse(day).toEpochDay() * MILLISECONDS_A_DAY;
            }
            int hour = two(bytes, begin + 11);
            int minute = two(bytes, begin + 14);
            int second = two(bytes, begin + 17);
            int millisecond = 100 * (bytes[begin + 20] - '0') + two(bytes, begin + 21);
            return dayBegins + ((hour * 60L + minute) * 60 + second) * 1000 + millisecond;
        }

        private boolean sameDay(byte[] bytes, int begin) {
            for (int i = 0; i < day.length(); i++) {
                if (bytes[begin + i] != day.charAt(i)) {
                    return false;
                }
            }
            return !day.isEmpty();
        }

        private static int two(byte[] bytes, int place) {
            return 10 * (bytes[place] - '0') + bytes[place + 1] - '0';
        }
    }

    public static void main(String[] arguments) throws Exception {
        String statement = arguments[2];
        long delay = Long.parseLong(arguments[3]);
        int threads = Integer.parseInt(arguments[4]);
        int repeat = Integer.parseInt(arguments[5]);
        run(Path.of(arguments[1]), statement, delay, threads);
        for (int i = 0; i < repeat; i++) {
            run(Path.of(arguments[0]), statement, delay, threads);
        }
    }

    private static void run(Path folder, String statement, long delay, int threads) throws Exception {
        long start = System.nanoTime();
        List<Path> files;
        try (Stream<Path> listed = Files.list(folder)) {
            files = listed.sorted().toList();
        }
        ExecutorService pool = Executors.newFixedThreadPool(threads);
        List<Future<Long>> shares = new ArrayList<>();
        for (int i = 0; i < threads; i++) {
            shares.add(pool.submit(new Share(files, statement, delay, i, threads)));
        }
        long matches = 0;
        for (Future<Long> share : shares) {
            matches += share.get();
        }
        pool.shutdown();
        System.out.printf(java.util.Locale.ROOT, "%.4f %d%n", (System.nanoTime() - start) / 1e9, matches);
    }
}
