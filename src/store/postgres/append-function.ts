import { DUE, IDLE } from "../deliveries.js";
import { TERMINAL } from "../states.js";
import { RACE } from "./errors.js";

/** Outcomes of one append, as the function returns them. Refusals say which of the facts refused it. */
export const outcome = { stored: 0, refused: 1, conversation: 2, taskConfigs: 3, ownerConfigs: 4 } as const;

/**
 * The function that appends to many tasks in one statement, and so in one transaction with one commit; `{s}` stands for
 * the schema. Its arguments are arrays with an element for each append, no two of the same task, and arrays of
 * segments, each with the number of its append. It returns rows only for appends with a result: a refusal, a lease that
 * stays, or push configurations.
 *
 * - All known tasks are locked first, in the order of their ids, in which every process locks them. Each later
 *   statement sees all commits from before the locks were granted, and nothing that it reads of these tasks changes.
 * - A plain append, to a task of the same state without push configurations, is decided together with all others of the
 *   kind. The rest is decided one by one, as far as possible from what one statement reads about all of them.
 * - Changes of the numbers of tasks by state become a few rows of `tally` (`counts.ts`).
 * - A race for a row that neither process has found (the same new task, key or conversation) undoes the whole statement
 *   with the code ${RACE}; the caller then repeats its appends one by one.
 */
export const appendFunction: string = `
CREATE FUNCTION {s}.append_1(
  ids text[], tenants text[], owners text[], contexts text[], states smallint[], times bigint[],
  expecteds bigint[], generations bigint[], nows bigint[],
  fence_holders text[], fence_attempts integer[],
  lease_holders text[], lease_turns bigint[], lease_attempts integer[],
  send_keys text[], send_tenants text[], send_owners text[], fingerprints text[], send_tasks text[],
  send_positions bigint[],
  conversation_expecteds bigint[], conversation_versions bigint[], conversation_bytes bytea[],
  config_ids text[], targets text[], most_of_task integer[], most_of_owner integer[], of_all boolean[],
  config_bytes bytea[],
  segment_of integer[], segment_last bigint[], segment_count integer[], segment_bytes bytea[]
) RETURNS TABLE (
  n integer, outcome integer, known boolean, tenant text, owner text, context_id text, terminal boolean, at bigint,
  holder text, turn bigint, attempt integer, pushed boolean,
  fingerprint text, remembered_task text, remembered_position bigint, version bigint
) LANGUAGE plpgsql SET enable_seqscan = off AS $append$
DECLARE
  r record;
  logs bigint[];
  befores smallint[] := states;
  new_log bigint;
  ends boolean;
  new_config boolean;
BEGIN
  PERFORM FROM {s}.task k WHERE k.task_id = ANY (ids) ORDER BY k.task_id FOR NO KEY UPDATE;
  logs := ARRAY(
    SELECT CASE WHEN l.last = u.expected AND t.state = u.state AND t.status_time = u.time AND t.pushed = 0
        AND t.state NOT IN (${TERMINAL})
        AND t.tenant = u.tenant AND t.owner = u.owner AND t.context_id = u.context
        AND (u.fence_holder IS NULL OR (t.lease_holder = u.fence_holder AND t.lease_attempt = u.fence_attempt))
        AND coalesce(u.lease_holder, u.send_key, u.config_id) IS NULL AND u.conversation_version IS NULL
      THEN t.log END
    FROM unnest(ids, tenants, owners, contexts, states, times, expecteds, fence_holders, fence_attempts,
        lease_holders, send_keys, config_ids, conversation_versions)
      WITH ORDINALITY AS u(id, tenant, owner, context, state, time, expected, fence_holder, fence_attempt,
        lease_holder, send_key, config_id, conversation_version, n)
    LEFT JOIN {s}.task t ON t.task_id = u.id
    LEFT JOIN LATERAL (SELECT g.last FROM {s}.segment g WHERE g.log = t.log ORDER BY g.last DESC LIMIT 1) l ON true
    ORDER BY u.n);

  IF array_position(logs, NULL) IS NOT NULL THEN
  FOR r IN SELECT u.*, t.task_id IS NOT NULL AS known, t.log, t.tenant AS own_tenant, t.owner AS own_owner,
      t.context_id AS own_context, t.state AS own_state, t.status_time, t.pushed,
      t.state IN (${TERMINAL}) AS terminal, t.lease_holder AS holder, t.lease_turn AS turn, t.lease_attempt AS attempt,
      CASE WHEN t.task_id IS NULL THEN 0 ELSE l.last END AS at
    FROM unnest(ids, tenants, owners, contexts, states, times, expecteds, nows,
      fence_holders, fence_attempts, lease_holders, lease_turns, lease_attempts,
      send_keys, send_tenants, send_owners, fingerprints, send_tasks, send_positions,
      conversation_expecteds, conversation_versions, conversation_bytes,
      config_ids, targets, most_of_task, most_of_owner, of_all, config_bytes)
    WITH ORDINALITY AS u(id, tenant, owner, context, state, time, expected, now,
      fence_holder, fence_attempt, lease_holder, lease_turn, lease_attempt,
      send_key, send_tenant, send_owner, fingerprint, send_task, send_position,
      conversation_expected, conversation_version, conversation_bytes,
      config_id, target, most_of_task, most_of_owner, of_all, config_bytes, n)
    LEFT JOIN {s}.task t ON t.task_id = u.id
    LEFT JOIN LATERAL (SELECT g.last FROM {s}.segment g WHERE g.log = t.log ORDER BY g.last DESC LIMIT 1) l ON true
    WHERE logs[u.n] IS NULL ORDER BY u.n
  LOOP
    outcome := 0; remembered_task := NULL; version := NULL; new_config := false;
    IF r.send_key IS NOT NULL THEN
      SELECT d.fingerprint, d.task_id, d.position INTO fingerprint, remembered_task, remembered_position
      FROM {s}.send d WHERE d.tenant = r.send_tenant AND d.owner = r.send_owner AND d.key = r.send_key;
    END IF;
    IF remembered_task IS NOT NULL OR r.terminal OR r.at <> r.expected
      OR (r.known AND (r.own_tenant <> r.tenant OR r.own_owner <> r.owner OR r.own_context <> r.context))
      OR (r.fence_holder IS NOT NULL AND CASE WHEN r.known
        THEN r.holder IS DISTINCT FROM r.fence_holder OR r.attempt IS DISTINCT FROM r.fence_attempt
        ELSE r.lease_holder IS DISTINCT FROM r.fence_holder OR r.lease_attempt IS DISTINCT FROM r.fence_attempt END)
    THEN
      outcome := ${outcome.refused};
    END IF;
    IF outcome = 0 AND r.conversation_version IS NOT NULL THEN
      SELECT c.version INTO version FROM {s}.conversation c
      WHERE c.tenant = r.tenant AND c.owner = r.owner AND c.context_id = r.context FOR NO KEY UPDATE;
      version := coalesce(version, 0);
      IF version <> r.conversation_expected THEN outcome := ${outcome.conversation}; END IF;
    END IF;
    IF outcome = 0 AND r.config_id IS NOT NULL THEN
      new_config := NOT EXISTS (SELECT FROM {s}.push_config p WHERE p.task_id = r.id AND p.config_id = r.config_id);
      IF new_config THEN
        outcome := {s}.push_excess_1(r.id, r.tenant, r.owner, false, r.most_of_task, r.most_of_owner, r.of_all);
      END IF;
    END IF;
    pushed := r.pushed > 0 OR r.config_id IS NOT NULL;
    IF outcome > 0 OR pushed OR (r.lease_holder IS NOT NULL AND r.holder IS NOT NULL) THEN
      n := r.n; known := r.known; tenant := r.own_tenant; owner := r.own_owner; context_id := r.own_context;
      terminal := r.terminal; at := r.at; holder := r.holder; turn := r.turn; attempt := r.attempt;
      RETURN NEXT;
      CONTINUE WHEN outcome > 0;
    END IF;

    ends := r.state IN (${TERMINAL});
    IF r.send_key IS NOT NULL THEN
      INSERT INTO {s}.send AS d (tenant, owner, key, fingerprint, task_id, position)
      VALUES (r.send_tenant, r.send_owner, r.send_key, r.fingerprint, r.send_task, r.send_position)
      ON CONFLICT DO NOTHING;
      IF NOT FOUND THEN RAISE 'a key was taken' USING ERRCODE = '${RACE}'; END IF;
    END IF;
    IF NOT r.known THEN
      new_log := ((extract(epoch FROM now())::bigint / 86400) << 36) | nextval('{s}.log_number');
      INSERT INTO {s}.task AS k (task_id, log, tenant, owner, context_id, state, status_time,
        lease_holder, lease_turn, lease_attempt)
      VALUES (r.id, new_log, r.tenant, r.owner, r.context, r.state, r.time,
        CASE WHEN ends THEN NULL ELSE r.lease_holder END, CASE WHEN ends THEN NULL ELSE r.lease_turn END,
        CASE WHEN ends THEN NULL ELSE r.lease_attempt END)
      ON CONFLICT DO NOTHING;
      IF NOT FOUND THEN RAISE 'a task was created' USING ERRCODE = '${RACE}'; END IF;
      logs[r.n] := new_log;
      befores[r.n] := NULL;
    ELSE
      IF ends OR r.own_state <> r.state OR r.status_time <> r.time
        OR (r.holder IS NULL AND r.lease_holder IS NOT NULL) THEN
        UPDATE {s}.task k SET state = r.state, status_time = r.time,
          lease_holder = CASE WHEN ends THEN NULL ELSE coalesce(r.holder, r.lease_holder) END,
          lease_turn = CASE WHEN ends THEN NULL WHEN r.holder IS NULL THEN r.lease_turn ELSE r.turn END,
          lease_attempt = CASE WHEN ends THEN NULL WHEN r.holder IS NULL THEN r.lease_attempt ELSE r.attempt END
        WHERE k.task_id = r.id;
      END IF;
      logs[r.n] := r.log;
      befores[r.n] := r.own_state;
    END IF;

    IF r.conversation_version IS NOT NULL THEN
      IF version = 0 THEN
        INSERT INTO {s}.conversation AS c (tenant, owner, context_id, version, bytes)
        VALUES (r.tenant, r.owner, r.context, r.conversation_version, r.conversation_bytes)
        ON CONFLICT DO NOTHING;
        IF NOT FOUND THEN RAISE 'a conversation was created' USING ERRCODE = '${RACE}'; END IF;
      ELSE
        UPDATE {s}.conversation c SET version = r.conversation_version, bytes = r.conversation_bytes
        WHERE c.tenant = r.tenant AND c.owner = r.owner AND c.context_id = r.context;
      END IF;
    END IF;
    IF r.pushed > 0 THEN
      UPDATE {s}.push_config p SET state = ${DUE}, at = r.now WHERE p.task_id = r.id AND p.state = ${IDLE};
    END IF;
    IF new_config THEN
      INSERT INTO {s}.push_config AS p (task_id, config_id, tenant, owner, target, position, state, at, counted, bytes)
      VALUES (r.id, r.config_id, r.tenant, r.owner, r.target, r.expected, ${DUE}, r.now, true, r.config_bytes);
    ELSIF r.config_id IS NOT NULL THEN
      UPDATE {s}.push_config p SET target = r.target, bytes = r.config_bytes, state = ${DUE}, at = r.now, attempts = 0,
        failing_since = NULL, failure = NULL, holder = NULL, claim = NULL, counted = true
      WHERE p.task_id = r.id AND p.config_id = r.config_id;
      DELETE FROM {s}.push_attempt a WHERE a.task_id = r.id AND a.config_id = r.config_id;
    END IF;
    IF pushed THEN PERFORM {s}.push_remark_1(r.id); END IF;
  END LOOP;

  INSERT INTO {s}.tally (xid, tenant, owner, state, tasks)
  SELECT pg_current_xact_id(), u.tenant, u.owner, c.state, sum(c.tasks)
  FROM unnest(tenants, owners, states, befores, logs) AS u(tenant, owner, state, before, log)
  CROSS JOIN LATERAL (VALUES (u.state, 1), (u.before, -1)) AS c(state, tasks)
  WHERE u.log IS NOT NULL AND u.before IS DISTINCT FROM u.state AND c.state IS NOT NULL
  GROUP BY u.tenant, u.owner, c.state HAVING sum(c.tasks) <> 0;
  END IF;

  INSERT INTO {s}.segment (log, last, count, generation, bytes)
  SELECT logs[g.of], g.last, g.count, generations[g.of], g.bytes
  FROM unnest(segment_of, segment_last, segment_count, segment_bytes) AS g(of, last, count, bytes)
  WHERE logs[g.of] IS NOT NULL;
END
$append$;

CREATE FUNCTION {s}.push_excess_1(
  id text, of_tenant text, of_owner text, terminal boolean, most_of_task integer, most_of_owner integer, of_all boolean
) RETURNS integer LANGUAGE sql STABLE AS $excess$
  SELECT CASE
    WHEN (SELECT count(*) FROM {s}.push_config p WHERE p.task_id = id) >= most_of_task THEN ${outcome.taskConfigs}
    WHEN NOT terminal AND (SELECT count(*) FROM {s}.push_config p WHERE p.owner = of_owner AND p.counted
      AND (of_all OR p.tenant = of_tenant)) >= most_of_owner THEN ${outcome.ownerConfigs}
    ELSE 0 END
$excess$;

CREATE FUNCTION {s}.push_remark_1(id text) RETURNS void LANGUAGE sql AS $remark$
  UPDATE {s}.task t SET pushed = n.pushed FROM (
    SELECT CASE
      WHEN k.state IN (${TERMINAL})
        AND EXISTS (SELECT FROM {s}.push_config p WHERE p.task_id = id AND p.state = ${DUE}) THEN 2
      WHEN EXISTS (SELECT FROM {s}.push_config p WHERE p.task_id = id) THEN 1
      ELSE 0 END AS pushed
    FROM {s}.task k WHERE k.task_id = id
  ) n WHERE t.task_id = id AND t.pushed <> n.pushed
$remark$;
`;
