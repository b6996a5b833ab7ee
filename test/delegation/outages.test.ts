import { mkdtempSync, rmSync } from "node:fs";
import type { AddressInfo } from "node:net";
import {
  connect as connectTcp,
  createServer as createTcpServer,
  type Socket,
  type Server as TcpServer,
} from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { CallingTurn } from "../../src/agent/delegation.js";
import { artifact, completed, working } from "../../src/agent/event.js";
import { connect } from "../../src/client/index.js";
import { defaultLimits } from "../../src/core/limits.js";
import { silentLogger } from "../../src/core/log.js";
import { RemoteCalls } from "../../src/delegation/remote-calls.js";
import { remoteBounds } from "../../src/delegation/remotes.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { sqliteStore } from "../../src/store/sqlite/index.js";
import { StoreError } from "../../src/store/task-store.js";
import { cardJson, serveCards } from "../client/card-server.js";
import { firstTurn } from "../engine/support.js";
import { withMethods } from "../engine/wrapped-stores.js";
import { setConstants } from "../support/constants.js";
import { agentOf, Servers } from "./servers.js";

const servers = new Servers();
const cleanup: (() => unknown)[] = [];
afterEach(async () => {
  await servers.close();
  for (const clean of cleanup.splice(0).reverse()) await clean();
});

/** Forwards bytes until it silently holds them back. */
class Line {
  readonly #sockets: Socket[] = [];
  /** The target port. */
  port = 0;
  readonly #server: TcpServer = createTcpServer((socket) => {
    const other = connectTcp(this.port, "127.0.0.1");
    this.#sockets.push(socket, other);
    for (const each of [socket, other]) each.on("error", () => {});
    socket.pipe(other).pipe(socket);
  });

  async open(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    cleanup.push(() => this.close());
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Stops forwarding on open connections without closing them. */
  holdBack(): void {
    for (const socket of this.#sockets) {
      socket.unpipe();
      socket.pause();
    }
  }

  close(): void {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
  }
}

const front = (url: string) =>
  agentOf("Front", async function* (turn) {
    const { text, state } = yield* turn.delegate(url);
    yield completed(`${TaskState[state]} ${text}`);
  });

describe("a sub-agent", () => {
  it("that dies and comes back is gone on with, and nothing is there twice", async () => {
    const folder = mkdtempSync(join(tmpdir(), "parley-delegation-"));
    cleanup.push(() => rmSync(folder, { recursive: true, force: true }));
    let attempts = 0;
    const agent = agentOf(
      "Other",
      async function* (turn) {
        attempts++;
        yield working(`attempt ${turn.attempt}`);
        yield artifact({ id: "a", text: "one " });
        if (turn.attempt === 1) await new Promise((_, reject) => turn.signal.addEventListener("abort", reject));
        yield artifact({ id: "a", text: "two", append: true });
      },
      { recover: "restart" },
    );
    const file = join(folder, "other.db");
    const first = await servers.serve(agent, { store: sqliteStore(file) });
    const { port } = first;
    const asking = await servers.serve(front(first.url));
    const client = await connect(asking.url);
    cleanup.push(() => client.close());
    const texts: string[] = [];
    let text = "";
    for await (const update of client.stream("go")) {
      if (update.kind === "status" && update.text !== "") texts.push(update.text);
      if (update.kind === "artifact" && attempts === 1) {
        await first.close({ graceMs: 0 });
        await servers.serve(agent, { store: sqliteStore(file), port });
      }
      text = update.task?.artifacts[0]?.parts.map(({ content }) => content.value).join("") ?? "";
    }
    expect(text).toBe("one two");
    expect(texts).toEqual(["attempt 1", "attempt 2", "COMPLETED one two"]);
  });

  it.each(["JSONRPC", "GRPC"])("whose connection says nothing any more is asked anew, over %s", async (binding) => {
    let proceed = (): void => {};
    const held = new Promise<void>((resolve) => {
      proceed = resolve;
    });
    const line = new Line();
    await line.open();
    const other = await servers.serve(
      agentOf("Other", async function* () {
        yield artifact({ id: "a", text: "one " });
        await held;
        yield artifact({ id: "a", text: "two", append: true });
      }),
    );
    line.port = other.port;
    // The card names the line, like that of a server behind a proxy.
    const supportedInterfaces = [{ url: line.url, protocolBinding: binding, protocolVersion: "1.0" }];
    const card = JSON.stringify(cardJson({ supportedInterfaces, capabilities: { streaming: true } }));
    const { url } = await serveCards((_, response) => response.setHeader("content-type", "application/json").end(card));
    setConstants(remoteBounds, { stallMs: 500 });
    const seen = await servers.serve(front(url));
    const client = await connect(seen.url);
    cleanup.push(() => client.close());
    let whole: unknown;
    for await (const { kind, task } of client.stream("go")) {
      if (kind === "artifact" && task?.artifacts[0]?.parts.length === 1) {
        line.holdBack();
        proceed();
      }
      whole = task?.artifacts[0]?.parts.map(({ content }) => content.value);
    }
    expect(whole).toEqual(["one ", "two"]);
  });
});

describe("an outage of the asking server's own store", () => {
  it.each([
    ["a short one is waited out", 3],
    ["after a longer one the turn runs again", 8],
  ])("is no failure of the other agent: %s", async (_, times) => {
    const kept = memoryStore();
    let failures = 0;
    const store = withMethods(kept, {
      list: async (request) => {
        if (failures-- > 0) throw new StoreError("unavailable", "The store is away.");
        return kept.list(request);
      },
    });
    let asked = 0;
    const other = await servers.serve(
      agentOf("Other", async function* () {
        asked++;
        yield completed("heard");
      }),
    );
    const attempts: number[] = [];
    const { execute } = front(other.url);
    const asking = await servers.serve(
      agentOf(
        "Front",
        (turn) => {
          attempts.push(turn.attempt);
          return execute(turn);
        },
        { recover: "restart" },
      ),
      { store, leaseMs: 1_000 },
    );
    const client = await connect(asking.url);
    cleanup.push(() => client.close());
    failures = times;
    const { text, state } = await client.send("go");
    expect([text, state, asked]).toEqual(["COMPLETED heard", TaskState.COMPLETED, 1]);
    expect(attempts).toEqual(times === 3 ? [1] : [1, 2]);
  });

  it("that fails the read of what was relayed fails no later delegation of the turn", async () => {
    const calls = new RemoteCalls({
      agents: {},
      limits: defaultLimits,
      logger: silentLogger,
      agentName: () => undefined,
      connect: () => Promise.reject(new Error("Nobody is there.")),
    });
    let reads = 0;
    const turn = {
      request: firstTurn,
      relayed: async () => {
        if (reads++ === 0) throw new StoreError("failed", "The read failed.");
        return [];
      },
    } as Partial<CallingTurn> as CallingTurn;
    const ofTurn = calls.of(turn);
    await expect(ofTurn.delegate("nobody", "a").next()).rejects.toThrow("The read failed.");
    await expect(ofTurn.delegate("nobody", "b").next()).rejects.toThrow(/nobody/);
    expect(reads).toBe(2);
    await calls.close();
  });
});
