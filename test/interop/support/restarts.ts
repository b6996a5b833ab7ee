import { setTimeout as sleep } from "node:timers/promises";
import { Client, credentials, Metadata } from "@grpc/grpc-js";
import { expect } from "vitest";
import { connect } from "../../../src/client/index.js";
import { Callers, type Tally } from "../../e2e/support/callers.js";
import type { Driver } from "../../support/driver.js";
import type { Site } from "./site.js";
import { succeed } from "./tool.js";

/** Number of restarts of each server. `PARLEY_RESTARTS=50` runs more and prints the counts. */
const RESTARTS: number = Number(process.env.PARLEY_RESTARTS ?? 1);

/** Timeout for all restarts in milliseconds, far more than a slow machine needs. */
export const RESTARTS_MS: number = 60_000 + RESTARTS * 60_000;

/** Time between two restarts, in milliseconds. */
const BETWEEN_MS = 1_500;

/** Pieces of a stream that is longer than the servers' drain delay, so that restarts interrupt streams. */
const LONG = 100;

const message = (id: string, text: string): string =>
  JSON.stringify({ message: { messageId: id, role: "ROLE_USER", parts: [{ text }] } });

/** Checks that events of every binding arrive when they happen, and that errors arrive unchanged. */
export async function expectPassedOn(drivers: readonly Driver[]): Promise<void> {
  for (const driver of drivers) {
    const stream = driver.stream("SendStreamingMessage", JSON.parse(message(driver.name, "stream 2 8 60000")));
    const seen: string[] = [];
    let taskId = "";
    while (seen.length < 3) {
      const item = await stream.next();
      if (!("message" in item)) throw new Error(`${driver.name}: ${JSON.stringify(item)}`);
      seen.push(...Object.keys(item.message));
      const { task } = item.message as { task?: { id: string } };
      taskId = task?.id ?? taskId;
    }
    // The second piece comes a minute later.
    expect(seen, driver.name).toEqual(["task", "statusUpdate", "artifactUpdate"]);
    stream.hangUp();
    expect((await driver.call("CancelTask", { id: taskId })).error, driver.name).toBeUndefined();
    const { error } = await driver.call("GetTask", { id: "none" });
    expect(error?.reason, driver.name).toBe("TASK_NOT_FOUND");
  }
}

const forged = { "x-forwarded-host": "forged.example", "x-forwarded-prefix": "/forged", "x-forwarded-proto": "forged" };

/**
 * Checks that the card, which caches store, has the proxy's address even for a client that forges forwarded headers.
 */
export async function expectOwnAddress({ ports }: Site): Promise<void> {
  const url = `http://127.0.0.1:${ports.front.http1}`;
  const answer = await fetch(`${url}/.well-known/agent-card.json`, { headers: forged });
  const card = await answer.text();
  expect(card).toContain(url);
  expect(card).not.toContain("forged");
}

/** Checks the same for the card over gRPC, for which the proxy sets the headers elsewhere in its configuration. */
export async function expectOwnAddressOverGrpc({ ports }: Site): Promise<void> {
  const authority = `127.0.0.1:${ports.front.http2}`;
  const client = new Client(authority, credentials.createInsecure());
  const metadata = new Metadata();
  for (const [name, value] of Object.entries(forged)) metadata.set(name, value);
  const path = "/lf.a2a.v1.A2AService/GetExtendedAgentCard";
  const same = (bytes: Buffer): Buffer => bytes;
  const card = await new Promise<string>((resolve, reject) => {
    client.makeUnaryRequest(path, same, same, Buffer.alloc(0), metadata, (error, answer) => {
      if (answer === undefined) reject(error);
      else resolve(answer.toString("latin1"));
    });
  });
  client.close();
  expect(card).toContain(`http://${authority}`);
  expect(card).not.toContain("forged");
}

interface Counted {
  readonly tallies: readonly (readonly [binding: string, Tally])[];
  /** Calls and streams of Parley's client, and calls of curl. */
  readonly others: readonly number[];
}

/**
 * Checks that no call fails and no event is lost while the servers of a site restart in turn. The proxy sends calls
 * that a server no longer accepts to the other one, so clients see no refusals.
 */
export async function expectNothingLost(site: Site, drivers: readonly Driver[]): Promise<void> {
  const { tallies, others } = await restartUnderLoad(site, drivers);
  for (const [name, tally] of tallies) {
    // Throws an error, because an assertion would shorten the texts.
    const lost = [...tally.broken, ...tally.refused];
    if (lost.length > 0) throw new Error(`${name}: ${lost.join("\n")}\n${saidOfCalls(site)}`);
    expect(tally.calls, name).toBeGreaterThan(RESTARTS);
    expect(tally.streams, name).toBeGreaterThan(0);
  }
  expect(tallies.reduce((sum, [, { resumed }]) => sum + resumed, 0)).toBeGreaterThan(0);
  expect(Math.min(...others)).toBeGreaterThan(0);
}

/** The proxy's log lines about calls that reached a server. */
function saidOfCalls({ said }: Site): string {
  return said.replaceAll(/^.*Connection refused.*\n/gm, "").slice(-2_000);
}

/** Restarts the servers of a site in turn while every binding, Parley's client and curl call them. */
async function restartUnderLoad(site: Site, drivers: readonly Driver[]): Promise<Counted> {
  const stop = new AbortController();
  const callers = drivers.map((driver) => new Callers(driver, LONG));
  const own = new OwnClient(`http://127.0.0.1:${site.ports.front.http1}`);
  const curl = new Curl(`http://127.0.0.1:${site.ports.front.http1}`);
  const work = callers.flatMap((each) => [each.call(stop.signal), each.stream(stop.signal)]);
  work.push(own.call(stop.signal), own.stream(stop.signal), curl.call(stop.signal));
  const restarts = async (): Promise<void> => {
    for (let times = 0; times < RESTARTS; times++) {
      for (const which of [0, 1] as const) {
        await sleep(BETWEEN_MS);
        await site.restart(which);
      }
    }
    await sleep(BETWEEN_MS);
    stop.abort();
  };
  await Promise.all([restarts(), ...work]);
  const counted = {
    tallies: callers.map(({ name, tally }) => [name, tally] as const),
    others: [own.calls, own.streams, curl.calls],
  };
  if (process.env.PARLEY_RESTARTS !== undefined) process.stderr.write(`${JSON.stringify(counted)}\n`);
  return counted;
}

/** Parley's client, which retries and resumes. */
class OwnClient {
  calls = 0;
  streams = 0;
  readonly #url: string;

  constructor(url: string) {
    this.#url = url;
  }

  async call(stop: AbortSignal): Promise<void> {
    const agent = await connect(this.#url);
    for (; !stop.aborted; this.calls++) {
      expect((await agent.send(`echo ${this.calls}`)).text).toBe(String(this.calls));
    }
    await agent.close();
  }

  async stream(stop: AbortSignal): Promise<void> {
    const agent = await connect(this.#url);
    for (; !stop.aborted; this.streams++) {
      let text = "";
      for await (const update of agent.stream(`stream ${LONG} 4 50`)) text += update.text;
      expect(text).toBe(Array.from({ length: LONG }, (_, at) => `${at + 1} `.padEnd(4, ".")).join(""));
    }
    await agent.close();
  }
}

/** curl without retries, on a new connection for each call. */
class Curl {
  calls = 0;
  readonly #url: string;

  constructor(url: string) {
    this.#url = url;
  }

  async call(stop: AbortSignal): Promise<void> {
    for (; !stop.aborted; this.calls++) {
      const body = message(`curl ${this.calls}`, `echo ${this.calls}`);
      const json = ["-H", "content-type: application/json", "-d", body];
      const printed = await succeed("curl", [
        "-sS",
        "--fail-with-body",
        "--max-time",
        "60",
        ...json,
        `${this.#url}/message:send`,
      ]);
      expect(printed).toContain('"TASK_STATE_COMPLETED"');
    }
  }
}
