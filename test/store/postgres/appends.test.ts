import { expect, it } from "vitest";
import { headOf, numbered } from "../../../contract/setup.js";
import { yieldToEventLoop } from "../../../src/core/event-loop.js";
import { silentLogger } from "../../../src/core/log.js";
import { Appends } from "../../../src/store/postgres/appends.js";
import type { Database } from "../../../src/store/postgres/database.js";
import { ServerHistory } from "../../../src/store/postgres/server-history.js";
import { learnTimeline } from "./servers.js";

it("appends close after a move that refuses those that wait", async () => {
  const history = new ServerHistory(silentLogger);
  await learnTimeline(history, 1);
  // No statement is sent to the database.
  const database = { history } as unknown as Database;
  const appends = new Appends(database, "s", { onStored: () => {}, onFull: () => {} });
  const head = headOf({ taskId: "a" });
  const answer = appends.append({ head, expected: 0, creates: true, entries: numbered(0, 1) });
  let isClosed = false;
  void appends.close().then(() => {
    isClosed = true;
  });
  const refused = expect(answer).rejects.toMatchObject({ kind: "unavailable" });
  await learnTimeline(history, 2);
  await refused;
  // The turn for which the append was planned.
  await yieldToEventLoop();
  await yieldToEventLoop();
  expect(isClosed).toBe(true);
});
