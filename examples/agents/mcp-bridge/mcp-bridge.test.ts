import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer, type Server as HttpServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { dataOf, filesOf, TaskState, textOf } from "parley-a2a";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { type AgentTest, testAgent } from "../../../src/testing/index.js";
import { FirstPythonClient, pythonHost } from "../../../test/version/v0.1/first-hosts.js";
import { type OfflineModel, startOfflineModel } from "../offline-model/server.js";
import { type Served, serve as serveAgent } from "../test-support/callers.js";
import { describeKills } from "../test-support/kill-loop.js";
import { describeTalks } from "../test-support/talks.js";
import { describeWireExamples } from "../test-support/wire-examples.js";
import { type Bridge, bridgeTo } from "./bridge.js";
import type { McpServer as McpAddress } from "./connection.js";
import { demoServer } from "./demo-server.js";
import { rules } from "./rules.js";

const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

/** The MCP server of the folder, as a program. */
const program = fileURLToPath(new URL("demo-stdio.ts", import.meta.url));
const stdio: McpAddress = { command: process.execPath, args: ["--import", "tsx", program] };

/** An MCP server at a URL, with a session for each client. */
async function serve(make: () => McpServer): Promise<{ url: string; forget(): void }> {
  const sessions = new Map<string, StreamableHTTPServerTransport>();
  const server: HttpServer = createServer(async (request, response) => {
    const known = sessions.get(String(request.headers["mcp-session-id"]));
    if (known !== undefined) return known.handleRequest(request, response);
    if (request.headers["mcp-session-id"] !== undefined) return response.writeHead(404).end();
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: () => randomUUID(),
      onsessioninitialized: (id) => void sessions.set(id, transport),
    });
    await make().connect(transport as Parameters<McpServer["connect"]>[0]);
    return transport.handleRequest(request, response);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  ends.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`, forget: () => sessions.clear() };
}

let model: OfflineModel;

async function bridged(server: McpAddress): Promise<{ t: AgentTest; bridge: Bridge }> {
  model = await startOfflineModel({ rules });
  ends.push(() => model.close());
  const bridge = await bridgeTo(server, { model: { baseURL: model.baseURL, apiKey: "none", model: "offline" } });
  ends.push(() => bridge.close());
  const t = testAgent(bridge.agent);
  ends.push(() => t.close());
  return { t, bridge };
}

type Task = Awaited<ReturnType<AgentTest["send"]>>;

const call = (tool: string, input = {}) => [{ data: { tool, arguments: input } }];
const said = (task: Task): string => textOf(task.status?.message);
const stateOf = (task: Task): string => TaskState[task.status?.state ?? 0] ?? "";

describe.each([
  ["stdio", async () => stdio],
  ["streamable HTTP", () => serve(demoServer)],
] as const)("a bridge over %s", (_name, open) => {
  it("has the tools as skills, and calls them", async () => {
    const { t, bridge } = await bridged(await open());
    expect(bridge.agent.card).toMatchObject({ name: "Demo Tools", version: "1.0.0" });
    const skills = bridge.agent.card.skills as { id: string; name: string; tags: string[] }[];
    expect(skills.map(({ id }) => id)).toEqual(["add", "divide", "countdown", "dot", "link", "book_table"]);
    expect(skills[0]).toMatchObject({ name: "Add", tags: ["mcp", "read-only"] });
    expect(dataOf(await t.send(call("add", { a: 2, b: 3 })))).toEqual([{ sum: 5 }]);
    expect(textOf(await t.send('{"tool":"divide","arguments":{"a":6,"b":3}}'))).toBe("2");
    const [image, note] = filesOf(await t.send(call("dot")));
    expect([image?.mediaType, image?.bytes?.[1], note?.name]).toEqual(["image/png", 0x50, "dot.txt"]);
    const link = { url: "https://example.org/page.html", name: "page.html", mediaType: "text/html" };
    expect(filesOf(await t.send(call("link")))).toEqual([link]);
  });

  it("fails with the error of the tool, of its arguments, and of a tool that does not exist", async () => {
    const { t } = await bridged(await open());
    const failed = await t.send(call("divide", { a: 1, b: 0 }));
    expect([stateOf(failed), said(failed)]).toEqual(["FAILED", "Nothing is divided by 0."]);
    expect(said(await t.send(call("divide", { a: "one", b: 0 })))).toMatch(/expected number/);
    expect(said(await t.send(call("multiply")))).toMatch(/There is no tool "multiply", only add, divide/);
  });

  it("relays progress as statuses", async () => {
    const { t } = await bridged(await open());
    const progress: string[] = [];
    // The SDK loses a progress that arrives in one piece with the result, so they come apart on busy machines, too.
    for await (const { payload } of t.stream(call("countdown", { from: 3, pauseMs: 300 }))) {
      if (payload.case === "statusUpdate") progress.push(textOf(payload.value.status?.message));
    }
    expect(progress.filter((text) => /^\d$/.test(text))).toEqual(["3", "2", "1"]);
  });

  it("asks what a tool asks, as a form, again if the answer is invalid, and survives a crash in between", async () => {
    const { t } = await bridged(await open());
    const asked = await t.send(call("book_table", { restaurant: "Roma" }));
    expect([stateOf(asked), said(asked)]).toEqual(["INPUT_REQUIRED", "A table at Roma: for how many, and when?"]);
    expect(dataOf(asked.status?.message)[0]).toMatchObject({ form: { required: ["guests", "day"] } });
    await t.crash();
    const again = await t.send([{ data: { guests: 0, day: "2030-01-02" } }], { task: asked });
    expect([stateOf(again), said(again)]).toEqual(["INPUT_REQUIRED", expect.stringContaining("guests")]);
    const done = await t.send([{ data: { guests: 4, day: "2030-01-02" } }], { task: asked });
    expect([stateOf(done), textOf(done)]).toEqual(["COMPLETED", "A table for 4 at Roma on 2030-01-02."]);
    const other = await t.send(call("book_table", { restaurant: "Milano" }));
    expect(textOf(await t.send("rejected form entry", { task: other }))).toBe("No table was booked.");
  });

  it("keeps the questions of parallel calls apart", async () => {
    const { t } = await bridged(await open());
    const names = ["A", "B", "C"];
    const asked = await Promise.all(names.map((restaurant) => t.send(call("book_table", { restaurant }))));
    const answers = asked.map((task, i) => t.send([{ data: { guests: i + 1, day: "2030-01-02" } }], { task }));
    expect((await Promise.all(answers)).map(textOf)).toEqual(
      names.map((name, i) => `A table for ${i + 1} at ${name} on 2030-01-02.`),
    );
  });

  it("lets the model choose the tool, and asks for what it needs to know", async () => {
    const { t } = await bridged(await open());
    expect(dataOf(await t.send("Please add 2 and 40."))).toEqual([{ sum: 42 }]);
    const asked = await t.send("Divide 6.");
    expect([stateOf(asked), said(asked)]).toEqual(["INPUT_REQUIRED", "Please give me b for divide?"]);
    const done = await t.send("By 3.", { task: asked });
    expect([textOf(done), model.requests.length]).toEqual(["2", 3]);
  });
});

describe("a bridge", () => {
  it("cancels the call at the MCP server, and calls nothing twice", async () => {
    const calls: string[] = [];
    const make = (): McpServer => {
      const server = new McpServer({ name: "slow", version: "1.0.0" });
      server.registerTool("wait", { inputSchema: { ms: z.number() } }, async ({ ms }, { signal }) => {
        calls.push("begun");
        await sleep(ms, undefined, { signal }).catch(() => calls.push("canceled"));
        return { content: [{ type: "text", text: "waited" }] };
      });
      return server;
    };
    const { t } = await bridged(await serve(make));
    const begun = await t.send(call("wait", { ms: 60_000 }), { returnImmediately: true });
    await expect.poll(() => calls).toEqual(["begun"]);
    expect(stateOf(await t.cancel(begun))).toBe("CANCELED");
    await expect.poll(() => calls).toEqual(["begun", "canceled"]);
    expect(textOf(await t.send(call("wait", { ms: 1 })))).toBe("waited");
    expect(calls).toEqual(["begun", "canceled", "begun"]);
  });

  it("takes no question of a canceled call for one of the next", async () => {
    const asks = (server: McpServer, message: string) =>
      server.server.elicitInput({
        message,
        requestedSchema: { type: "object", properties: { name: { type: "string" } } },
      });
    const make = (): McpServer => {
      const server = new McpServer({ name: "late", version: "1.0.0" });
      server.registerTool("late", {}, async () => {
        await sleep(300);
        await asks(server, "late").catch(() => {});
        return { content: [] };
      });
      server.registerTool("slow", {}, async () => {
        await sleep(600);
        const { content } = await asks(server, "mine");
        return { content: [{ type: "text", text: `${content?.name}` }] };
      });
      return server;
    };
    const { t } = await bridged(await serve(make));
    const begun = await t.send(call("late"), { returnImmediately: true });
    await sleep(100);
    await t.cancel(begun);
    const asked = await t.send(call("slow"));
    expect(said(asked)).toBe("mine");
    expect(textOf(await t.send([{ data: { name: "me" } }], { task: asked }))).toBe("me");
  });

  it("connects again after the program has ended", async () => {
    const mortal = fileURLToPath(new URL("../test-support/mortal-stdio.ts", import.meta.url));
    const { t } = await bridged({ command: process.execPath, args: ["--import", "tsx", mortal] });
    const first = textOf(await t.send(call("pid")));
    expect(stateOf(await t.send(call("exit")))).toBe("FAILED");
    const second = textOf(await t.send(call("pid")));
    expect([first, second]).toEqual([expect.stringMatching(/^\d+$/), expect.stringMatching(/^\d+$/)]);
    expect(second).not.toBe(first);
  });

  it("begins another session where the server has forgotten its own", async () => {
    const { url, forget } = await serve(demoServer);
    const { t } = await bridged({ url });
    forget();
    expect(dataOf(await t.send(call("add", { a: 1, b: 1 })))).toEqual([{ sum: 2 }]);
  });
});

describe("a bridge over its bindings and versions", () => {
  let served: Served;
  let bridge: Bridge;
  beforeAll(async () => {
    bridge = await bridgeTo(stdio);
    served = await serveAgent(bridge.agent);
  });
  afterAll(async () => {
    await served.close();
    await bridge.close();
  });

  describeTalks(
    () => served,
    [
      {
        title: "calls a tool after a question of the model",
        exchanges: [
          { says: "Divide 6.", state: "input-required", text: "Please give me b for divide?" },
          { says: "By 3.", artifacts: { divide: "2" }, progress: ["Calling divide."] },
        ],
      },
      {
        title: "asks what a tool asks",
        exchanges: [
          { says: 'book_table "Roma"', state: "input-required", text: "A table at Roma: for how many, and when?" },
          {
            says: '{"guests":2,"day":"2030-01-02"}',
            artifacts: { book_table: "A table for 2 at Roma on 2030-01-02." },
          },
        ],
      },
    ],
  );
  describeWireExamples(new URL("README.md", import.meta.url), () => served);

  it("has answers that the first Python host can read", async () => {
    const client = await FirstPythonClient.resolve(served.url);
    const printed = await pythonHost(client, ["add 2 and 3", "dot", "link", "divide 1 by 0", 'book_table "Roma"']);
    expect(printed.map(({ task }) => (task.status as { state: string }).state)).toEqual([
      ...["completed", "completed", "completed", "failed", "input-required"],
    ]);
  });
});

describeKills({
  module: fileURLToPath(new URL("agent.ts", import.meta.url)),
  rules,
  says: ["Divide 6.", "By 3.", 'book_table "Roma"', '{"guests":2,"day":"2030-01-02"}'],
});
