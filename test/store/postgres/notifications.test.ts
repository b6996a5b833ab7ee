import type { Client } from "pg";
import { describe, expect, it } from "vitest";
import { yieldToEventLoop } from "../../../src/core/event-loop.js";
import { silentLogger } from "../../../src/core/log.js";
import type { Database } from "../../../src/store/postgres/database.js";
import { Notifications } from "../../../src/store/postgres/notifications.js";
import { ServerHistory } from "../../../src/store/postgres/server-history.js";
import { Gates } from "../../support/gates.js";
import { learnTimeline } from "./servers.js";

/** A carrier whose connections wait at the gate `LISTEN <number>`, and the numbers of those that it has ended. */
async function opened() {
  const gates = new Gates();
  const history = new ServerHistory(silentLogger);
  await learnTimeline(history, 1);
  const ended: number[] = [];
  let count = 0;
  const connection = async (): Promise<Client> => {
    const number = ++count;
    const client = {
      on: () => {},
      query: (sql: string) => (sql.startsWith("LISTEN") ? gates.pass(`LISTEN ${number}`) : undefined),
      end: async () => ended.push(number),
    };
    return client as unknown as Client;
  };
  const carrier = new Notifications({ history, connection } as unknown as Database, "s", silentLogger);
  carrier.open(() => {});
  await gates.reached("LISTEN 1");
  return { carrier, gates, history, ended };
}

describe("Notifications during LISTEN", () => {
  it("end the connection if they are closed", async () => {
    const { carrier, gates, ended } = await opened();
    await carrier.close();
    gates.open("LISTEN 1");
    await yieldToEventLoop();
    expect(ended).toEqual([1]);
  });

  it("connect again if the database moves to another server", async () => {
    const { carrier, gates, history, ended } = await opened();
    await learnTimeline(history, 2);
    gates.open("LISTEN 1");
    await yieldToEventLoop();
    expect(ended).toEqual([1]);
    await gates.reached("LISTEN 2");
    gates.open("LISTEN 2");
    await yieldToEventLoop();
    expect(ended).toEqual([1]);
    await carrier.close();
    expect(ended).toEqual([1, 2]);
  });
});
