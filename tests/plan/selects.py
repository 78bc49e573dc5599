"""Random SELECTs with subqueries in any place, over tables of whole numbers."""

from itertools import count

TABLES = {"a": ("id", "x", "v"), "b": ("id", "y", "w"), "c": ("id", "z")}


class Writer:
    """Writes random SELECTs."""

    def __init__(self, chance):
        self.chance, self.numbers = chance, count()

    def relation(self) -> tuple[str, list[str]]:
        name, alias = self.chance.choice([*TABLES]), f"t{next(self.numbers)}"
        if self.chance.random() < 0.3:
            # Relations of subqueries may have the names of those around them.
            alias = name
        return f"{name} AS {alias}", [f"{alias}.{column}" for column in TABLES[name]]

    def condition(self, own: list[str], outer: list[str], depth: int) -> str:
        one, other = self.chance.choice(own), self.chance.choice([*outer, *own])
        kind = self.chance.randint(0, 11 if depth else 3)
        comparison = self.chance.choice(["=", "<", ">=", "<>", "IS NOT DISTINCT FROM"])
        plain = f"{one} {comparison} {self.chance.choice([other, other, '1'])}"
        match kind:
            case 0 | 1 | 2:
                return plain
            case 3:
                return f"({plain} OR {one} IS NULL)"
            case 4:
                return f"EXISTS ({self.rows([*own, *outer], depth - 1)})"
            case 5:
                return f"NOT EXISTS ({self.rows([*own, *outer], depth - 1)})"
            case 6:
                return f"{one} IN ({self.rows([*own, *outer], depth - 1)})"
            case 7:
                return f"{one} NOT IN ({self.rows([*own, *outer], depth - 1)})"
            case 8 | 9:
                return f"{one} {self.chance.choice(['=', '<', '>'])} ({self.scalar([*own, *outer], depth - 1)})"
            case 10:
                return f"({plain} OR {self.condition(own, outer, depth)})"
        return f"NOT ({self.condition(own, outer, depth)})"

    def where(self, own: list[str], outer: list[str], depth: int) -> str:
        parts = [self.condition(own, outer, depth) for _ in range(self.chance.randint(0, 2))]
        return f" WHERE {' AND '.join(parts)}" if parts else ""

    def source(self, outer: list[str], depth: int) -> tuple[str, list[str]]:
        text, own = self.relation()
        if self.chance.random() < 0.3:
            more, further = self.relation()
            if not {column.split(".")[0] for column in own} & {column.split(".")[0] for column in further}:
                kind = self.chance.choice(["JOIN", "LEFT JOIN"])
                text += f" {kind} {more} ON {own[0]} = {further[0]}"
                if depth and self.chance.random() < 0.3:
                    text += f" AND {self.condition(further, [], depth - 1)}"
                own = [*own, *further]
        return text, own

    def rows(self, outer: list[str], depth: int) -> str:
        source, own = self.source(outer, depth)
        item, where = self.chance.choice(own), self.where(own, outer, depth)
        kind = self.chance.randint(0, 6)
        if kind == 0:
            return f"SELECT {item} FROM {source}{where} GROUP BY {item} HAVING COUNT(*) > 1"
        if kind == 1:
            return f"SELECT DISTINCT {item} FROM {source}{where}"
        if kind == 2:
            more, other = self.source(outer, depth)
            return f"SELECT {item} FROM {source}{where} UNION ALL SELECT {other[0]} FROM {more}"
        if kind == 3:
            return f"SELECT MAX({item}) FROM {source}{where}"
        return f"SELECT {item} FROM {source}{where}"

    def scalar(self, outer: list[str], depth: int) -> str:
        source, own = self.source(outer, depth)
        item, where = self.chance.choice(own), self.where(own, outer, depth)
        form = self.chance.choice(["MAX({0})", "COUNT(*)", "SUM({0}) + 1", "COUNT({0}) * 2", "MIN({0}) + COUNT(*)"])
        if self.chance.random() < 0.2:
            order = ", ".join(f"{column} NULLS FIRST" for column in own)
            return f"SELECT {item} FROM {source}{where} ORDER BY {order} LIMIT 1"
        having = " HAVING COUNT(*) > 1" if self.chance.random() < 0.2 else ""
        return f"SELECT {form.format(item)} FROM {source}{where}{having}"

    def framed(self, own: list[str]) -> str:
        """Return a window function; its order leaves no ties."""
        value, rows = self.chance.choice(own), [f"{column} NULLS FIRST" for column in own]
        if self.chance.random() < 0.5:
            rows.insert(0, f"{self.chance.choice(own)} DESC NULLS LAST")
        partition = f"PARTITION BY {self.chance.choice(own)} " if self.chance.random() < 0.7 else ""
        over = f"OVER ({partition}ORDER BY {', '.join(rows)}"
        form = self.chance.choice([
            "ROW_NUMBER()", "RANK()", "NTILE(2)", "LAG({0})", "LEAD({0}, 2, -1)", "LAG({0}) IGNORE NULLS",
            "SUM({0})", "COUNT({0})", "MIN({0})", "MAX({0})", "FIRST_VALUE({0})", "LAST_VALUE({0})",
        ])  # fmt: skip
        call = form.format(value)
        if form.startswith(("SUM", "COUNT", "MIN", "MAX", "FIRST", "LAST")):
            ends = self.chance.choice([
                "1 PRECEDING", "2 PRECEDING AND CURRENT ROW", "UNBOUNDED PRECEDING AND 1 FOLLOWING",
                "CURRENT ROW AND UNBOUNDED FOLLOWING",
            ])  # fmt: skip
            frame = f"ROWS {'BETWEEN ' if 'AND' in ends else ''}{ends}"
            if self.chance.random() < 0.3:
                first = self.chance.choice(["1 PRECEDING", "CURRENT ROW"])
                frame = f"RANGE BETWEEN {first} AND 1 FOLLOWING"
                over = f"OVER ({partition}ORDER BY {self.chance.choice(own)} NULLS FIRST"
                call = call if not form.startswith(("FIRST", "LAST")) else f"COUNT({value})"
            over = f"{over} {frame}"
        if "IGNORE" in call:
            # Spark has it behind the call, databases within it.
            call = call.replace(") IGNORE NULLS", " IGNORE NULLS)")
        return f"{call} {over})"

    def windowed(self) -> str:
        """Return a SELECT with window functions, or one over their rows."""
        source, own = self.source([], 1)
        where = self.where(own, [], 1)
        kind = self.chance.randint(0, 3)
        if kind == 0:
            key = own[1]
            by = f"OVER (ORDER BY COUNT(*) DESC, {key} NULLS FIRST)"
            call = self.chance.choice(["RANK()", "SUM(COUNT(*))", "LAG(COUNT(*))"])
            return f"SELECT {key} AS k, COUNT(*) AS n, {call} {by} AS i FROM {source}{where} GROUP BY {key}"
        items = f"{own[0]} AS k, {own[1]} AS n, {self.framed(own)} AS i"
        if kind == 1:
            return f"SELECT {items} FROM {source}{where} QUALIFY {self.framed(own)} > 1"
        inner = f"SELECT {items}, {self.framed(own)} AS j FROM {source}{where}"
        if kind == 2:
            return f"SELECT k, COUNT(*) AS n, SUM(i + j) AS i FROM ({inner}) AS w GROUP BY k"
        return f"SELECT k, n, i FROM ({inner}) AS w WHERE i > j OR j IS NULL"

    def select(self) -> str:
        if self.chance.random() < 0.3:
            return self.windowed()
        source, own = self.source([], 1)
        where = self.where(own, [], 2)
        if self.chance.random() < 0.3:
            key = own[1]
            having = f"COUNT(*) {self.chance.choice(['<', '>', '='])} ({self.scalar([key], 1)})"
            item = self.chance.choice([f"({self.scalar([key], 1)})", f"EXISTS ({self.rows([key], 1)})", "1"])
            return f"SELECT {key} AS k, COUNT(*) AS n, {item} AS i FROM {source}{where} GROUP BY {key} HAVING {having}"
        value = f"({self.scalar(own, 1)})"
        item = self.chance.choice([value, f"({self.condition(own, [], 1)})", f"{own[0]} + {value}"])
        return f"SELECT {own[0]} AS k, {own[1]} AS n, {item} AS i FROM {source}{where}"
