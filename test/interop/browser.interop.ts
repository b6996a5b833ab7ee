import type { JsonObject } from "@bufbuild/protobuf";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Home, type ServerProcess } from "../e2e/support/server-process.js";
import { closeWindows, launch } from "./browser/chromium.js";
import { FrailProxy } from "./browser/frail-proxy.js";
import { servePage } from "./browser/page-server.js";

let browser: Browser;
let page: Page;
let pages: Awaited<ReturnType<typeof servePage>>;

beforeAll(async () => {
  browser = await launch();
  pages = await servePage();
  page = await browser.newPage();
  await page.goto(pages.origin);
  await page.waitForFunction("globalThis.probe !== undefined");
});

afterAll(async () => {
  await closeWindows(browser);
  pages?.close();
});

/** Calls a function of the page's script. */
function inPage<T>(name: string, ...args: readonly unknown[]): Promise<T> {
  return page.evaluate(`probe.${name}(${args.map((arg) => JSON.stringify(arg)).join(", ")})`);
}

interface Followed {
  readonly events: readonly { readonly id: number; readonly data: JsonObject }[];
  readonly isClosed: boolean;
  readonly breaks: number;
}

const followed = (): Promise<Followed> => page.evaluate("probe.followed");

/** Waits until the followed stream fits. */
async function until(fits: (seen: Followed) => boolean): Promise<void> {
  await expect.poll(async () => fits(await followed()), { timeout: 30_000, interval: 50 }).toBe(true);
}

function say(text: string, configuration: object = {}): object {
  return { message: { messageId: text, role: "ROLE_USER", parts: [{ text }] }, configuration };
}

/** Starts a task that the page will follow. */
async function begin(base: string, text: string): Promise<string> {
  const { result } = await inPage<{ result: { task: { id: string } } }>(
    "rpc",
    base,
    "SendMessage",
    say(text, { returnImmediately: true }),
  );
  return result.task.id;
}

describe("a page of another origin, where the server lets it", () => {
  const home = new Home("--cors", "--lease", "500ms");
  let server: ServerProcess;

  beforeAll(async () => {
    server = await home.start();
  });

  afterAll(() => home.leave());

  it("reads the card and the headers that it needs", async () => {
    const card = await inPage<{ name: string; etag: string }>("card", server.url);
    expect(card).toEqual({ name: "Probe", etag: expect.stringMatching(/"/) });
  });

  it("calls methods over JSON-RPC, with service parameters", async () => {
    const headers = { "a2a-extensions": "urn:parley:ext:resume:v1", "idempotency-key": "browser", "parley-wait": "1" };
    const answer = await inPage<JsonObject>("rpc", server.url, "SendMessage", say("echo hello"), headers);
    expect(answer).toMatchObject({
      requestId: "from-browser",
      result: { task: { status: { state: "TASK_STATE_COMPLETED" } } },
    });
  });

  it("makes requests over HTTP+JSON, and reads errors", async () => {
    const init = {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(say("say hi")),
    };
    expect(await inPage("rest", `${server.url}/message:send`, init)).toMatchObject({
      status: 200,
      body: { message: { parts: [{ text: "hi" }] } },
    });
    expect(await inPage("rest", `${server.url}/tasks/nobody`)).toMatchObject({
      status: 404,
      body: { error: { details: [{ reason: "TASK_NOT_FOUND" }] } },
    });
  });

  it.each(["connect", "grpc-web"])("calls and streams with the published client over %s", async (protocol) => {
    const [update, piece] = ["statusUpdate", "artifactUpdate"];
    expect(await inPage("call", server.url, protocol)).toEqual({
      state: "COMPLETED",
      kinds: ["task", update, piece, piece, piece, update],
      code: "NotFound",
      details: ["google.rpc.ErrorInfo"],
    });
  });

  it("follows a task by EventSource, and misses nothing however often the connection breaks", async () => {
    const proxy = new FrailProxy(server.url);
    const through = await proxy.listen();
    const id = await begin(server.url, "stream 60 4 100");
    await inPage("follow", `${through}/tasks/${id}:subscribe`);
    await until(({ events }) => events.length >= 5);
    proxy.cut();
    await until(({ events, breaks }) => breaks === 1 && events.length >= 40);
    proxy.cut();
    await until(({ isClosed }) => isClosed);
    proxy.close();
    const { events } = await followed();
    expect(storyOf(events)).toEqual({ first: expect.any(Number), missing: [], twice: [], last: 63 });
    expect(events.at(-1)?.data).toMatchObject({ statusUpdate: { status: { state: "TASK_STATE_COMPLETED" } } });
  });

  it("follows a task by EventSource over a crash of the server", async () => {
    const proxy = new FrailProxy(server.url);
    const through = await proxy.listen();
    const id = await begin(server.url, "wait 3000");
    await inPage("follow", `${through}/tasks/${id}:subscribe`);
    await until(({ events }) => events.some(({ id }) => id === 2));
    await server.kill();
    server = await home.start();
    proxy.target = server.url;
    await until(({ isClosed }) => isClosed);
    proxy.close();
    const { events } = await followed();
    expect(storyOf(events)).toMatchObject({ missing: [], twice: [], last: 4 });
    expect(events.at(-1)?.data).toMatchObject({ statusUpdate: { status: { state: "TASK_STATE_COMPLETED" } } });
  });
});

/** Missing and repeated generations of the events. Each connection begins with the task at the client's position. */
function storyOf(events: Followed["events"]): object {
  const updates = events.filter(({ data }) => !("task" in data)).map(({ id }) => id);
  const first = events[0]?.id ?? 0;
  const last = Math.max(...updates);
  const all = Array.from({ length: last - first }, (_, i) => first + 1 + i);
  return {
    first,
    missing: all.filter((id) => !updates.includes(id)),
    twice: updates.filter((id, i) => updates.indexOf(id) !== i),
    last,
  };
}

describe.each([
  { where: "where the server says nothing of other origins", flags: [] },
  { where: "where the server lets other pages than this one", flags: ["--cors", "https://console.example.org"] },
])("a page of another origin, $where", ({ flags }) => {
  const home = new Home(...flags);
  let server: ServerProcess;

  beforeAll(async () => {
    server = await home.start();
  });

  afterAll(() => home.leave());

  it("is kept from everything by the browser", async () => {
    await expect(inPage("card", server.url)).rejects.toThrow("Failed to fetch");
    await expect(inPage("rpc", server.url, "ListTasks", {})).rejects.toThrow("Failed to fetch");
    await expect(inPage("rest", `${server.url}/tasks`)).rejects.toThrow("Failed to fetch");
    await expect(inPage("call", server.url, "connect")).rejects.toThrow("Failed to fetch");
    await expect(inPage("call", server.url, "grpc-web")).rejects.toThrow("Failed to fetch");
  });

  it("is kept from event streams", async () => {
    const send = { method: "POST", headers: { "content-type": "application/json" } };
    const body = JSON.stringify(say("wait 20000", { returnImmediately: true }));
    const sent = await fetch(`${server.url}/message:send`, { ...send, body });
    const { task } = (await sent.json()) as { task: { id: string } };
    await inPage("follow", `${server.url}/tasks/${task.id}:subscribe`);
    await until(({ breaks }) => breaks > 0);
    expect(await followed()).toMatchObject({ events: [], isClosed: true });
  });
});

describe("a page of an origin that the server names", () => {
  // The test starts this server, because the origin is unknown before the page is served.
  let home: Home | undefined;

  afterAll(() => home?.leave());

  it("is let in", async () => {
    home = new Home("--cors", `https://console.example.org, ${pages.origin}`);
    const server = await home.start();
    expect(await inPage("card", server.url)).toMatchObject({ name: "Probe" });
    expect(await inPage("call", server.url, "connect")).toMatchObject({ state: "COMPLETED" });
  });
});
