-- What does each reader's timeline hold: the posts of those whom they follow?
--
-- Posts are written, edited and deleted; follows begin and end. The timeline is the join of the two tables, and changes whenever
-- either of them does: who follows an author gets the earlier posts, who leaves loses them.
--
-- Output:
--   reader,author,id,body,op
--   ada,bela,2,Coffee?,+I
--   bela,ada,1,First light,+I
--   bela,ada,3,First build,+I
--   bela,cleo,4,Rain again,+I
--   cleo,bela,2,Coffee?,+I

CREATE OR REPLACE STREAM posts (
  id INT, author STRING, at TIMESTAMP, body STRING, action STRING,
  WATERMARK FOR at AS at - INTERVAL '1' MINUTE,
  PRIMARY KEY (id) DELETE WHEN action = 'delete'
) USING csv OPTIONS (path 'queries/data/posts', header 'true');

CREATE OR REPLACE STREAM follows (
  reader STRING, author STRING, at TIMESTAMP, action STRING,
  WATERMARK FOR at AS at - INTERVAL '1' MINUTE,
  PRIMARY KEY (reader, author) DELETE WHEN action = 'unfollow'
) USING csv OPTIONS (path 'queries/data/follows', header 'true');

SELECT f.reader, p.author, p.id, p.body
FROM follows AS f JOIN posts AS p ON p.author = f.author
EMIT CHANGES;
