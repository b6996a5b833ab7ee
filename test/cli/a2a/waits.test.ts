import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { some } from "../../support/cover.js";
import { CuttingProxy } from "../../support/cutting-proxy.js";
import { Gate, gates, openWorld, runIn, type World } from "./world.js";

const quick = ["--poll-interval", "20ms"];

describe.each(some(["jsonrpc", "grpc"], ["rest"]))("waiting over %s", { timeout: 60_000 }, (transport) => {
  let world: World;
  beforeAll(async () => {
    world = await openWorld();
  });
  afterAll(() => world.close());
  beforeEach(() => {
    world.seen.splice(0);
    world.before = () => {};
  });

  const agent = ["-a", "AGENT", "--transport", transport, ...quick];
  const begun = async (text: string): Promise<string> => {
    const { json } = await world.run(["send", text, "--async", "-o", "json", ...agent]);
    world.seen.splice(0);
    return json.task.id;
  };

  /** Starts a task that continues when the gate opens. */
  const atGate = async () => {
    const gate = new Gate();
    gates.set(transport, gate);
    return { id: await begun(`gate ${transport}`), open: gate.open };
  };

  it("A2ACLI_TASK_POLL_001 reads a task once, or waits", async () => {
    const { id, open } = await atGate();
    const once = await world.run(["task", "get", id, "-o", "json", ...agent]);
    expect(once.json).toMatchObject({ id, status: { state: expect.stringMatching(/WORKING|SUBMITTED/) } });
    expect(world.seen.map(({ method }) => method)).toEqual(["GetTask"]);
    world.before = ({ method }) => {
      if (method === "SubscribeToTask") setImmediate(open);
    };
    const waited = await world.run(["task", "get", id, "--wait", "-o", "json", ...agent]);
    expect(waited.json).toMatchObject({ id, status: { state: "TASK_STATE_COMPLETED" } });
  });

  it("A2ACLI_TASK_POLL_002 ends at --timeout, and leaves the task alone", async () => {
    const id = await begun("hold");
    const late = await world.run(["task", "get", id, "--wait", "--timeout", "200ms", "-o", "json", ...agent]);
    expect(late.exit).toBe(5);
    expect(late.json.error.code).toBe("A2ACLI_ERR_TIMEOUT");
    expect(late.json.error.hint).toMatch(new RegExp(`^parley task get .*${id} --wait$`));
    const now = await world.run(["task", "get", id, "-o", "json", ...agent]);
    expect(now.json.status.state).toBe("TASK_STATE_WORKING");
  });

  it("A2ACLI_TASK_POLL_002 ends when it is interrupted, with ids and the way to resume", async () => {
    const interrupted = new AbortController();
    const outcome = await world.run(["send", "hold", ...agent], {
      interrupted: interrupted.signal,
      onOutput: (stream, text) => {
        if (stream === "err" && text.startsWith("Task ID:")) setImmediate(() => interrupted.abort("SIGINT"));
      },
    });
    expect(outcome.exit).toBe(130);
    expect(outcome.out).toBe("");
    expect(outcome.err).toMatch(
      /Task ID: \S+\n[\s\S]*Code: PARLEY_ERR_INTERRUPTED\nHint: parley task get .* --wait\n$/,
    );
  });

  it("A2ACLI_TASK_POLL_004 goes on by polling if streams fail", async () => {
    const gate = new Gate();
    gates.set(transport, gate);
    world.before = ({ method }) => {
      if (method === "SubscribeToTask") throw new Error("broken");
    };
    const { json, err } = await world.run(["send", `gate ${transport}`, "-o", "json", ...agent], {
      onOutput: gate.open,
    });
    expect(err).toContain("the task is polled");
    expect(json.task.status.state).toBe("TASK_STATE_COMPLETED");
    expect(world.seen.map(({ method }) => method)).toContain("SubscribeToTask");
  });

  it("A2ACLI_OUT_005 keeps the ids of a running task from driving the terminal", async () => {
    const gate = new Gate();
    gates.set(transport, gate);
    const argv = ["send", `gate ${transport}`, "--context-id", "evil\u001b[2J", ...agent];
    const { err } = await world.run(argv, { onOutput: gate.open });
    expect(err).toMatch(/^Task ID: \S+\nContext ID: evil\uFFFD\[2J\n$/);
  });

  it("A2ACLI_TASK_CANCEL_001 cancels, and reports a task that is finished", async () => {
    const id = await begun("hold");
    const first = await world.run(["task", "cancel", id, "-o", "json", ...agent]);
    expect(first).toMatchObject({ exit: 0, err: "", json: { id, status: { state: "TASK_STATE_CANCELED" } } });
    const second = await world.run(["task", "cancel", id, "-o", "json", ...agent]);
    if (second.exit !== 0) expect(second.json.error.code).toBe("TaskNotCancelableError");
  });

  it("A2ACLI_TASK_SUBSCRIBE_001 follows a task from its state to its end", async () => {
    const { id, open } = await atGate();
    world.before = ({ method }) => {
      if (method === "SubscribeToTask") setImmediate(open);
    };
    const { lines, exit } = await world.run(["task", "subscribe", id, "--stream", "-o", "json", ...agent]);
    expect(exit).toBe(0);
    expect(lines[0]).toMatchObject({ task: { id } });
    expect((lines.at(-1).statusUpdate ?? lines.at(-1).task).status.state).toBe("TASK_STATE_COMPLETED");
    const after = await world.run(["task", "subscribe", id, "-o", "json", ...agent]);
    expect(after).toMatchObject({ exit: 0, json: { id, status: { state: "TASK_STATE_COMPLETED" } } });
    const unknown = await world.run(["task", "subscribe", "nope", "-o", "json", ...agent]);
    expect(unknown).toMatchObject({ exit: 1, json: { error: { code: "TaskNotFoundError" } } });
  });

  it("A2ACLI_TASK_LIST_001 lists tasks by page, state and context", async () => {
    const ids = [await begun("echo 1"), await begun("echo 2"), await begun("fail x")];
    const page = await world.run(["task", "list", "--limit", "2", "-o", "json", ...agent]);
    expect(page.json.tasks).toHaveLength(2);
    const next = await world.run([
      "task",
      "list",
      "--limit",
      "2",
      "--page-token",
      page.json.nextPageToken,
      "-o",
      "json",
      ...agent,
    ]);
    expect(next.json.tasks[0].id).not.toBe(page.json.tasks[0].id);
    const failed = await world.run(["task", "list", "--status", "failed", "--all", "--stream", "-o", "json", ...agent]);
    expect(failed.lines.map(({ id }) => id)).toContain(ids[2]);
    expect(failed.lines.map(({ id }) => id)).not.toContain(ids[0]);
    const { contextId } = failed.lines.find(({ id }) => id === ids[2]);
    const own = await world.run(["task", "list", "--context-id", contextId, ...agent]);
    expect(own.out).toMatch(
      new RegExp(`^Task ID: ${ids[2]}\nContext ID: ${contextId}\nState: FAILED\nUpdated: .+\n\n$`),
    );
  });

  it("A2ACLI_INTERACT_004 continues with the command that it prints", async () => {
    const asked = await world.run(["send", "ask Which city?", ...agent]);
    const [, command = ""] = /^Resume with: parley (.*) "<reply>"$/m.exec(asked.out) ?? [];
    const answered = await world.run([...command.split(" "), "Oslo", ...quick]);
    expect(answered.out).toContain("State: COMPLETED");
    expect(answered.out).toContain("Text:\nOslo\n\n");
  });

  it("A2ACLI_TASK_SUBSCRIBE_002 resumes a stream that is cut, with nothing lost and nothing twice", async () => {
    const port = transport === "grpc" ? (world.server.grpcPort ?? 0) : world.server.port;
    const proxy = await CuttingProxy.open(port, { plan: () => ({ bytes: 2_500 }), most: 2 });
    try {
      const endpoint = transport === "grpc" ? `127.0.0.1:${proxy.port}` : `http://127.0.0.1:${proxy.port}`;
      const { json: card } = await world.run(["card", "get", "AGENT", "-o", "json"]);
      const protocolBinding = { jsonrpc: "JSONRPC", rest: "HTTP+JSON", grpc: "GRPC" }[transport];
      const own = { ...card, supportedInterfaces: [{ url: endpoint, protocolBinding, protocolVersion: "1.0" }] };
      const { exit, lines } = await runIn(
        ["send", "stream 20 64 5", "--stream", "-o", "json", "-a", "./c.json", ...quick],
        {
          files: { "c.json": JSON.stringify(own) },
        },
      );
      expect(exit).toBe(0);
      const texts = lines.flatMap(({ artifactUpdate }) => artifactUpdate?.artifact.parts[0].text ?? []);
      expect(texts.map((text: string) => Number.parseInt(text, 10))).toEqual(
        Array.from({ length: 20 }, (_, i) => i + 1),
      );
      expect(lines.at(-1).statusUpdate.status.state).toBe("TASK_STATE_COMPLETED");
      expect(proxy.cuts).toBeGreaterThan(0);
    } finally {
      await proxy.close();
    }
  });
});

describe("an agent that does not stream", { timeout: 60_000 }, () => {
  let world: World;
  beforeAll(async () => {
    world = await openWorld({ capabilities: { streaming: false } });
  });
  afterAll(() => world.close());

  it("A2ACLI_SEND_003 is polled, and the output stays lines", async () => {
    const { exit, lines, err } = await world.run([
      "send",
      "wait 100",
      "--stream",
      "-o",
      "json",
      "-a",
      "AGENT",
      ...quick,
    ]);
    expect(exit).toBe(0);
    expect(lines.every(({ task }) => task !== undefined)).toBe(true);
    expect(lines.at(-1).task.status.state).toBe("TASK_STATE_COMPLETED");
    expect(err).toContain("does not declare streaming");
    expect(world.seen.some(({ method }) => method === "GetTask")).toBe(true);
    expect(world.seen.some(({ method }) => method === "SendStreamingMessage")).toBe(false);
  });
});
