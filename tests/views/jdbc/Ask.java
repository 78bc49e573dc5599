// Asks a server through PostgreSQL's JDBC driver, and prints what it says; the argument is the port.

import java.math.BigDecimal;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.sql.Timestamp;

public class Ask {
    static void show(ResultSet rows, String... columns) throws SQLException {
        while (rows.next()) {
            StringBuilder line = new StringBuilder();
            for (String column : columns) line.append(rows.getString(column)).append(' ');
            System.out.println(line.toString().trim());
        }
    }

    public static void main(String[] arguments) throws SQLException {
        String url = "jdbc:postgresql://127.0.0.1:" + arguments[0] + "/cepsql?user=anna";
        try (Connection connection = DriverManager.getConnection(url)) {
            DatabaseMetaData meta = connection.getMetaData();
            show(meta.getCatalogs(), "TABLE_CAT");
            show(meta.getTables(null, "public", "%", new String[] {"TABLE"}), "TABLE_NAME", "TABLE_TYPE");
            show(meta.getColumns(null, null, "spent", "%"), "COLUMN_NAME", "TYPE_NAME");
            String asked = "SELECT city, n, total, at FROM spent WHERE n >= ? AND total > ? AND at > ? ORDER BY n";
            try (PreparedStatement statement = connection.prepareStatement(asked)) {
                // From the fifth time on the driver prepares it at the server.
                for (int i = 0; i < 7; i++) {
                    statement.setLong(1, 3);
                    statement.setBigDecimal(2, new BigDecimal("2.5"));
                    statement.setTimestamp(3, new Timestamp(0));
                    try (ResultSet rows = statement.executeQuery()) {
                        rows.next();
                        Object at = rows.getTimestamp(4).toInstant();
                        if (i == 6) System.out.println(rows.getString(1) + " " + rows.getLong("n") + " " + rows.getBigDecimal(3) + " " + at);
                    }
                }
            }
            connection.setAutoCommit(false);
            try (Statement statement = connection.createStatement()) {
                statement.setFetchSize(1);
                show(statement.executeQuery("SELECT city FROM spent WHERE n > 0 ORDER BY n"), "city");
            }
            connection.commit();
            connection.setAutoCommit(true);
            try (Statement statement = connection.createStatement()) {
                statement.executeQuery("SELECT nope FROM spent");
            } catch (SQLException error) {
                System.out.println(error.getSQLState() + " " + error.getMessage().split("\n")[0]);
            }
            System.out.println(connection.isValid(60));
        }
    }
}
