-- Local item suggestion: who sells in category 10 from three states? People register before they sell.
SELECT p.name, p.city, p.state, a.id
FROM auction AS a ASOF JOIN person AS p MATCH_CONDITION (a.dateTime >= p.dateTime) ON a.seller = p.id
WHERE a.category = 10 AND p.state IN ('OR', 'ID', 'CA')
