import { connect, type Socket } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { SharedPort, type Taker } from "../../src/workers/shared-port.js";

const clients: Socket[] = [];
let port: SharedPort;

afterEach(() => {
  port.close();
  for (const client of clients.splice(0)) client.destroy();
});

/** A worker that confirms its connections, is stopped, or has no free descriptor for them. */
class Worker implements Taker {
  taken = 0;
  isStopped = false;
  isFull = false;
  readonly #waiting: number[] = [];

  give(_port: string, id: number): void {
    this.taken++;
    if (this.isFull) return;
    if (this.isStopped) this.#waiting.push(id);
    else setImmediate(() => port.answered(id, true));
  }

  check(upTo: number): void {
    if (!this.isStopped) setImmediate(() => port.checked(this, upTo));
  }

  goOn(): void {
    this.isStopped = false;
    for (const id of this.#waiting.splice(0)) port.answered(id, true);
  }
}

async function open(): Promise<Worker[]> {
  port = new SharedPort("http", { host: "127.0.0.1", port: 0 });
  const workers = [new Worker(), new Worker(), new Worker()];
  for (const worker of workers) port.add(worker);
  return workers;
}

async function connectOnce(): Promise<Socket> {
  const { port: number = 0 } = await port.opened;
  const client = connect(number, "127.0.0.1");
  client.on("error", () => {});
  clients.push(client);
  return client;
}

describe("SharedPort", () => {
  it("gives connections to the workers in turn, and few to one that does not answer", async () => {
    const workers = await open();
    const [, stopped = new Worker()] = workers;
    const total = (): number => workers.reduce((sum, { taken }) => sum + taken, 0);
    const connectMore = async (count: number): Promise<void> => {
      for (let more = 0; more < count; more++) {
        const before = total();
        await connectOnce();
        await expect.poll(total, { interval: 1 }).toBe(before + 1);
        await new Promise((resolve) => setImmediate(resolve));
      }
    };
    await connectMore(30);
    expect(workers.map(({ taken }) => taken)).toEqual([10, 10, 10]);
    stopped.isStopped = true;
    await connectMore(30);
    expect(stopped.taken).toBe(11);
    expect(Math.abs((workers[0]?.taken ?? 0) - (workers[2]?.taken ?? 0))).toBeLessThan(3);
    stopped.goOn();
    await connectMore(30);
    expect(stopped.taken).toBeGreaterThan(18);
  });

  it("reassigns connections that have not arrived, and closes those that no worker receives", async () => {
    const workers = await open();
    for (const worker of workers) worker.isFull = true;
    const closed = new Promise((resolve) => void connectOnce().then((client) => client.once("close", resolve)));
    await closed;
    expect(workers.map(({ taken }) => taken)).toEqual([1, 1, 1]);
    const [, , last = new Worker()] = workers;
    last.isFull = false;
    await connectOnce();
    await expect.poll(() => last.taken, { timeout: 10_000 }).toBe(2);
  });
});
