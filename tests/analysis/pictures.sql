EXPLAIN PATTERN AS DOT SELECT * FROM ticks MATCH_RECOGNIZE (
  PARTITION BY sym ORDER BY ts
  PATTERN ((A | B+ C??) {- D{2,3} -} PERMUTE(E, F)) WITHIN INTERVAL '1' HOUR
  DEFINE A AS price > 10 AND
             sym <> "x", B AS B.price < LAST(B.price, 1))
----
digraph patterns {
  rankdir=LR; node [shape=box, style=rounded, fontname="Helvetica"]; edge [fontname="Helvetica"]
  subgraph cluster_0 {
    labelloc=b; labeljust=l; color=gray; fontname="Helvetica"; label="PATTERN ((A | B+ C??) {- D{2,3} -} PERMUTE(E, F))\lA: price > 10 AND sym <> \"x\"\lB: B.price < LAST(B.price, 1)\lC: every row\lD: every row\lE: every row\lF: every row\lWITHIN INTERVAL '1' HOUR\lnumbers: the order in which ways are tried\ldashed: a reluctant quantifier goes on\l"
    m0_s0 [shape=point, width=0.15, label=""]
    m0_s1 [label="A"]
    m0_s2 [label="B"]
    m0_s3 [label="C"]
    m0_s4 [label="{- D -}"]
    m0_s5 [label="{- D -}"]
    m0_s6 [label="{- D -}"]
    m0_s7 [label="E"]
    m0_s8 [label="F"]
    m0_s9 [label="F"]
    m0_s10 [label="E"]
    m0_s11 [shape=doublecircle, label=""]
    m0_s0 -> m0_s1 [label="1"]
    m0_s0 -> m0_s2 [label="2"]
    m0_s1 -> m0_s4
    m0_s2 -> m0_s2 [label="1"]
    m0_s2 -> m0_s4 [label="2"]
    m0_s2 -> m0_s3 [label="3", style=dashed]
    m0_s3 -> m0_s4
    m0_s4 -> m0_s5
    m0_s5 -> m0_s6 [label="1"]
    m0_s5 -> m0_s7 [label="2"]
    m0_s5 -> m0_s9 [label="3"]
    m0_s6 -> m0_s7 [label="1"]
    m0_s6 -> m0_s9 [label="2"]
    m0_s7 -> m0_s8
    m0_s8 -> m0_s11
    m0_s9 -> m0_s10
    m0_s10 -> m0_s11
  }
}
====
EXPLAIN PATTERN AS mermaid SELECT * FROM trades MATCH_RECOGNIZE (
  PARTITION BY sym ORDER BY ts PATTERN (^ A*? (B | C)+ $) DEFINE A AS price > 10 AND sym <> "x")
----
flowchart LR
  m0_notes["PATTERN (^ A*? (B | C)+ $)<br/>A: price #gt; 10 AND sym #lt;#gt; #quot;x#quot;<br/>B: every row<br/>C: every row<br/>numbers: the order in which ways are tried<br/>dashed: a reluctant quantifier goes on"]
  m0_s0(("begin"))
  m0_s1("A")
  m0_s2("B")
  m0_s3("C")
  m0_s4((("end")))
  m0_s0 -->|"1 ^"| m0_s2
  m0_s0 -->|"2 ^"| m0_s3
  m0_s0 -.->|"3 ^"| m0_s1
  m0_s1 -->|"1"| m0_s2
  m0_s1 -->|"2"| m0_s3
  m0_s1 -.->|"3"| m0_s1
  m0_s2 -->|"1"| m0_s2
  m0_s2 -->|"2"| m0_s3
  m0_s2 -->|"3 $"| m0_s4
  m0_s3 -->|"1"| m0_s2
  m0_s3 -->|"2"| m0_s3
  m0_s3 -->|"3 $"| m0_s4
====
EXPLAIN PATTERN AS DOT SELECT * FROM trades MATCH_RECOGNIZE (PARTITION BY sym ORDER BY ts PATTERN (A)) AS a
JOIN trades MATCH_RECOGNIZE (PARTITION BY sym ORDER BY ts PATTERN (B?)) AS b ON a.sym = b.sym
----
digraph patterns {
  rankdir=LR; node [shape=box, style=rounded, fontname="Helvetica"]; edge [fontname="Helvetica"]
  subgraph cluster_0 {
    labelloc=b; labeljust=l; color=gray; fontname="Helvetica"; label="PATTERN (A)\lA: every row\l"
    m0_s0 [shape=point, width=0.15, label=""]
    m0_s1 [label="A"]
    m0_s2 [shape=doublecircle, label=""]
    m0_s0 -> m0_s1
    m0_s1 -> m0_s2
  }
  subgraph cluster_1 {
    labelloc=b; labeljust=l; color=gray; fontname="Helvetica"; label="PATTERN (B?)\lB: every row\lnumbers: the order in which ways are tried\l"
    m1_s0 [shape=point, width=0.15, label=""]
    m1_s1 [label="B"]
    m1_s2 [shape=doublecircle, label=""]
    m1_s0 -> m1_s1 [label="1"]
    m1_s0 -> m1_s2 [label="2"]
    m1_s1 -> m1_s2
  }
}
