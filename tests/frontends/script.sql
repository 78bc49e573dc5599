select 1;
-- a stream
stream;
