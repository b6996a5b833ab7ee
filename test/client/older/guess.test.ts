import { describe, expect, it } from "vitest";
import type { A2AError } from "../../../src/client/index.js";
import { atEnd, connect, serve } from "../world.js";
import { type V01Options, V01Server } from "./v01-server.js";

/** Members that are optional in 0.1 and required in 0.2. With them, a card of 0.1 looks like one of 0.2. */
const alike: object = {
  description: "Says what it was told.",
  provider: { organization: "Example", url: "https://example.com" },
  authentication: undefined,
  defaultInputModes: ["text/plain"],
  defaultOutputModes: ["text/plain"],
  skills: [{ id: "words", name: "Words", description: "Says words", tags: ["words"] }],
};

async function serveV01(options: V01Options = {}): Promise<V01Server> {
  const server = await V01Server.start({ card: alike, ...options });
  atEnd(() => server.stop());
  return server;
}

const uncached = { card: { cache: false } } as const;

async function failure(call: Promise<unknown>): Promise<A2AError> {
  return call.then(
    () => expect.fail("The call did not fail."),
    (error: A2AError) => error,
  );
}

describe("a card that names no version", () => {
  it("is not what Parley serves to those who speak 0.1", async () => {
    const server = await serve({ versions: ["1.0", "0.1"] });
    const client = await connect(`${server.url}/.well-known/agent.json`);
    expect(client.interface.protocolVersion).toBe("0.1");
    expect((await client.send("task x")).text).toBe("task x");
  });

  it("may be of 0.1: a send that its agent does not know is made in that, and all calls after it", async () => {
    const server = await serveV01();
    const client = await connect(server.url, uncached);
    const [one, two] = await Promise.all([client.send("echo a"), client.send("echo b")]);
    expect([one.text, two.text].map((text) => text.slice(0, 1))).toEqual(["a", "b"]);
    expect(client.interface.protocolVersion).toBe("0.1");
    server.got.length = 0;
    await client.send("echo c");
    await client.getTask({ id: one.taskId ?? "" });
    expect(server.got.map(({ method }) => method)).toEqual(["tasks/send", "tasks/get"]);
  });

  it.each([true, false])("may be of 0.1 for a stream as well, streaming: %s", async (streaming) => {
    const server = await serveV01({ streaming });
    const client = await connect(server.url, uncached);
    let text = "";
    for await (const update of client.stream("count")) text = update.task?.artifacts[0]?.parts.length ? "n" : text;
    expect(text).toBe("n");
    const unknown = server.got.filter(({ method }) => method.startsWith("message/"));
    expect(unknown).toHaveLength(1);
  });

  it("is of 0.2 where its agent says something else of the send", async () => {
    const server = await serve({ versions: ["1.0", "0.2"] });
    const card = { ...alike, name: "Older", version: "1", url: server.url, capabilities: { streaming: true } };
    const client = await connect(card);
    const sent = await failure(client.send({ parts: "task x", taskId: "none" }));
    expect(sent.reason).toBe("TASK_NOT_FOUND");
    expect((await client.send("task x")).text).toBe("task x");
    expect(client.interface.protocolVersion).toBe("0.2");
  });

  it("is of 0.2 though it looks like one of 0.1", async () => {
    const server = await serve({ versions: ["1.0", "0.2"] });
    const card = { name: "Older", version: "1", url: server.url, capabilities: { streaming: true }, skills: [] };
    const client = await connect(card);
    let text = "";
    for await (const update of client.stream("count")) text += update.text;
    expect(text).toBe("one two three");
    expect(client.interface.protocolVersion).toBe("0.2");
  });

  it("leaves an agent that knows no send at all with the error of the first one", async () => {
    const server = await serve({ versions: ["1.0", "0.3"] });
    const card = { ...alike, name: "Older", version: "1", url: `${server.url}/none`, capabilities: {} };
    const client = await connect(card);
    const first = await failure(client.send("x"));
    expect(client.interface.protocolVersion).toBe("0.2");
    expect((await failure(client.send("x"))).message).toBe(first.message);
  });

  it("is of the version that its caller names", async () => {
    const server = await serveV01();
    const client = await connect(server.url, { ...uncached, version: "0.1" });
    expect((await client.send("echo a")).state).toBeDefined();
    expect(server.got.map(({ method }) => method)).toEqual(["tasks/send"]);
  });
});

describe("the version that a caller names", () => {
  it("is the one of several that is spoken", async () => {
    const server = await serve();
    const client = await connect(server.url, { version: "0.3" });
    expect(client.interface.protocolVersion).toMatch(/^0\.3/);
    expect((await client.send("say hi")).text).toBe("hi");
  });

  it("is refused where the agent does not speak it, and where nobody here does", async () => {
    const server = await serve({ versions: ["1.0"] });
    const error = await failure(connect(server.url, { version: "0.3" }));
    expect(error).toMatchObject({ reason: "VERSION_NOT_SUPPORTED", metadata: { supportedVersions: "1.0" } });
    expect(error.message).toContain("speaks A2A 1.0, not 0.3");
    expect(await failure(connect(server.url, { version: "0.9" }))).toMatchObject({
      reason: "INVALID_PARAMS",
      violations: [{ field: "version" }],
    });
  });
});
