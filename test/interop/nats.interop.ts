import { setTimeout as sleep } from "node:timers/promises";
import { connect, type NatsConnection } from "@nats-io/transport-node";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { natsSignals } from "../../src/signals/nats/index.js";
import type { NatsConnection as Used } from "../../src/signals/nats/transport.js";
import type { SignalMember, Signals } from "../../src/signals/signals.js";
import { signalCases } from "../signals/cases.js";
import { NatsServer } from "./support/nats.js";

let server: NatsServer;
let stranger: NatsConnection;
let prefixes = 0;

beforeAll(async () => {
  server = await NatsServer.start();
  stranger = await connect({
    servers: [`127.0.0.1:${server.port}`],
    ...{ user: "tester", pass: "s3cret/word", maxReconnectAttempts: -1, reconnectTimeWait: 100 },
  });
});

afterAll(async () => {
  await stranger?.close();
  await server?.kill();
});

/** Checks that the package's types include those that `src/signals/nats` restates. */
export const isUsed = (connection: NatsConnection): Used => connection;

signalCases("NATS", async () => {
  const prefix = `p${++prefixes}`;
  const [one, two] = await Promise.all([natsSignals(server.url(prefix)), natsSignals(server.url(prefix))]);
  return {
    one,
    two,
    stranger: async (text) => {
      for (const subject of [`${prefix}.all`, `${prefix}.to.b`]) stranger.publish(subject, text);
      await stranger.flush();
    },
    cut: async () => {
      await server.kill();
      await sleep(200);
      await server.start();
    },
  };
});

/** Sends a hint of a change. Returns the number of ids heard before. */
function told(member: SignalMember, id: string, heard: ReadonlySet<string> | readonly string[]): number {
  member.changed(id);
  return [...heard].length;
}

describe("natsSignals()", () => {
  const opened: Signals[] = [];
  const logged: { level: string; facts: object; message: string }[] = [];
  const note = (level: string) => (facts: object, message: string) => void logged.push({ level, facts, message });
  const logger = { debug: note("debug"), info: note("info"), warn: note("warn"), error: note("error") };
  const open = async (url: string): Promise<Signals> => {
    const signals = await natsSignals({ url, logger });
    opened.push(signals);
    return signals;
  };
  afterAll(async () => {
    for (const signals of opened) await signals.close();
  });

  it("does not hear servers of another prefix", async () => {
    const [a, b, c] = [await open(server.url("x")), await open(server.url("x")), await open(server.url("y"))];
    const [same, other] = [new Set<string>(), new Set<string>()];
    const sender = a.join("a");
    b.join("b").onChanged((ids) => ids.forEach((id) => void same.add(id)));
    c.join("c").onChanged((ids) => ids.forEach((id) => void other.add(id)));
    await expect.poll(() => told(sender, "t", same)).toBe(1);
    await sleep(100);
    expect(other.size).toBe(0);
  });

  it("detects at once that no member has a name", async () => {
    const [a, b] = [(await open(server.url("z"))).join("a"), (await open(server.url("z"))).join("b")];
    const heard = new Set<string>();
    a.onChanged((ids) => ids.forEach((id) => void heard.add(id)));
    await expect.poll(() => told(b, "t", heard)).toBe(1);
    const inquiry = { name: "half", readQuestion: Number, readAnswer: Number };
    expect(await a.ask("nobody", inquiry, 1, 3_600_000)).toBeUndefined();
  });

  it("waits for a server that does not run, and for one that refuses the login, and names no secret", async () => {
    logged.length = 0;
    const wrong = `nats://tester:wr0ng-s3cret@127.0.0.1:${server.port}`;
    (await open(wrong)).join("a");
    await expect.poll(() => logged.length).toBeGreaterThan(0);
    await sleep(500);
    // The warning is logged once for all attempts.
    expect(logged.filter(({ level }) => level === "warn")).toHaveLength(1);
    await server.kill();
    const later = (await open(server.url("later"))).join("later");
    const heard: string[] = [];
    (await open(server.url("later"))).join("other").onChanged((ids) => heard.push(...ids));
    later.changed("lost");
    await sleep(300);
    await server.start();
    await expect.poll(() => told(later, "told", heard), { timeout: 30_000 }).toBeGreaterThan(0);
    expect(heard).not.toContain("lost");
    expect(JSON.stringify(logged)).not.toMatch(/s3cret|wr0ng/);
  });

  it("reconnects when a stopped server answers no pings", async () => {
    const [a, b] = [(await open(server.url("stop"))).join("a"), (await open(server.url("stop"))).join("b")];
    const heard = new Set<string>();
    b.onChanged((ids) => ids.forEach((id) => void heard.add(id)));
    await expect.poll(() => told(a, "before", heard)).toBe(1);
    server.signal("SIGSTOP");
    for (let index = 0; index < 1_000; index++) a.changed(`during ${index}`);
    await sleep(1_000);
    server.signal("SIGCONT");
    await expect.poll(() => told(a, "after", heard) > 0 && heard.has("after"), { timeout: 60_000 }).toBe(true);
  });

  it("rejects an invalid address without showing its password", async () => {
    for (const url of ["http://u:s3cret@h", "nats://", "nats://u:s3cret@", "nats://h?prefix=a b", "nats://h?x=1", ""]) {
      const refused = await natsSignals(url).catch((error: Error) => error.message);
      expect(refused).toContain("nats://user:password@host:4222");
      expect(refused).not.toContain("s3cret");
    }
    await expect(natsSignals({ url: "nats://h", prefix: "*" })).rejects.toThrow("prefix");
  });
});
