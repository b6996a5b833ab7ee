import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { create } from "@bufbuild/protobuf";
import { build } from "esbuild";
import { GlobalWindow } from "happy-dom";
import { act as actIn, createElement, type ReactElement, StrictMode } from "react";
import type { Root } from "react-dom/client";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { AgentCardSchema } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { conversation } from "../../src/client/follow/conversation.js";
import { follow, stream } from "../../src/client/follow/send.js";
import { type UsedConversation, useConversation, useTask } from "../../src/client/react/index.js";
import { type Agent, artifact, completed, createServer, inputRequired, type Server, working } from "../../src/index.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { IDEMPOTENCY_EXTENSION } from "../../src/wire/service-params.js";
import { coreOver, type TestCore } from "../client/cores.js";
import { blocksOf, root as projectRoot } from "../docs/pages.js";
import { CuttingProxy } from "../support/cutting-proxy.js";

/*
 * The hooks in React with a document, in StrictMode, which mounts everything twice. A page is a component that shows
 * the results of the hooks as text.
 */

/** True if the agent may continue. It waits before its end. */
let isReleased = true;

const agent: Agent = {
  card: { name: "Talker", description: "Talks.", version: "1.0.0", skills: [] },
  async *execute(turn) {
    yield working("Thinking.");
    if (turn.text === "ask") return yield inputRequired("Which one?");
    for (const [index, word] of `You said ${turn.text}`.split(" ").entries()) {
      yield artifact({ id: `answer-${turn.history.length}`, text: `${word} `, append: index > 0 });
    }
    while (!isReleased) {
      turn.signal.throwIfAborted();
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    yield completed();
  },
};

/** A page's storage, like `sessionStorage`. */
class PageStorage {
  readonly kept = new Map<string, string>();
  getItem(key: string): string | null {
    return this.kept.get(key) ?? null;
  }
  setItem(key: string, value: string): void {
    this.kept.set(key, value);
  }
  removeItem(key: string): void {
    this.kept.delete(key);
  }
}

const window = new GlobalWindow({ url: "http://localhost/" });
let createRoot: (container: Element) => Root;
let server: Server;
let proxy: CuttingProxy;
let core: TestCore;
let root: Root;
let storage: PageStorage;
let chat: UsedConversation;

const page = (): string => window.document.body.textContent ?? "";

const client = () => ({
  stream: (...[message, options]: [Parameters<typeof stream>[1], Parameters<typeof stream>[2]?]) =>
    stream(core, message, options),
  follow: (id: string, options?: Parameters<typeof follow>[2]) => follow(core, id, options),
  cancelTask: (request: { id: string }) => core.rpc.cancelTask(request),
});

function Chat({ of }: { readonly of: ReturnType<typeof client> }): ReactElement {
  chat = useConversation(of, { storage });
  const lines = chat.turns.map(({ id, text, progress, phase }) =>
    createElement("p", { key: id }, `[${phase}] ${progress}${text}`),
  );
  return createElement("main", null, ...lines);
}

function Task({ of, id }: { readonly of: ReturnType<typeof client>; readonly id: string | undefined }): ReactElement {
  const { text, isStreaming } = useTask(of, id);
  return createElement("p", null, `${isStreaming ? "…" : "."} ${text}`);
}

/** Runs an action in React's `act`. React only warns about missing `act` calls while the flag is set. */
async function act<T>(what: () => Promise<T>): Promise<T> {
  Object.assign(globalThis, { IS_REACT_ACT_ENVIRONMENT: true });
  try {
    return await actIn(what);
  } finally {
    Object.assign(globalThis, { IS_REACT_ACT_ENVIRONMENT: false });
  }
}

/** Opens the page as after a reload. Only the storage is kept. */
async function open(element: ReactElement): Promise<void> {
  const container = window.document.createElement("div");
  window.document.body.replaceChildren(container);
  root = createRoot(container as unknown as Element);
  await act(async () => root.render(createElement(StrictMode, null, element)));
}

const close = (): Promise<void> => act(async () => root.unmount());

const shows = (text: string) => expect.poll(() => act(async () => page()), { timeout: 10_000 }).toBe(text);

beforeAll(async () => {
  const { document, navigator } = window;
  Object.assign(globalThis, { window, document });
  Object.defineProperty(globalThis, "navigator", { value: navigator, configurable: true });
  ({ createRoot } = await import("react-dom/client"));
  server = await createServer({ agent, store: memoryStore(), port: 0, grpcPort: false, host: "127.0.0.1" });
  proxy = await CuttingProxy.open(Number(new URL(server.url).port));
});

beforeEach(() => {
  core = coreOver("JSONRPC", proxy.url);
  storage = new PageStorage();
  isReleased = true;
});

afterEach(async () => {
  await close();
  await core.close();
});

afterAll(async () => {
  await proxy.close();
  await server.close();
  await window.happyDOM.close();
});

describe("useConversation()", () => {
  it("shows the answer as it grows, and is done", async () => {
    isReleased = false;
    await open(createElement(Chat, { of: client() }));
    await act(async () => expect(chat.send("hello")).toBe(true));
    await shows("[streaming] Thinking.You said hello ");
    expect(chat.send("more")).toBe(false);
    isReleased = true;
    await shows("[done] You said hello ");
    expect(chat.isStreaming).toBe(false);
  });

  it("goes on with the stream after a cut", async () => {
    isReleased = false;
    await open(createElement(Chat, { of: client() }));
    await act(async () => chat.send("a cut"));
    await shows("[streaming] Thinking.You said a cut ");
    proxy.cutAll();
    isReleased = true;
    await shows("[done] You said a cut ");
  });

  it("goes on after a reload in the middle of an answer, and knows what was said before", async () => {
    const of = client();
    await open(createElement(Chat, { of }));
    await act(async () => chat.send("one"));
    await shows("[done] You said one ");
    isReleased = false;
    await act(async () => chat.send("two"));
    await shows("[done] You said one [streaming] Thinking.You said two ");
    await close();
    await open(createElement(Chat, { of: client() }));
    await shows("[done] You said one [streaming] Thinking.You said two ");
    isReleased = true;
    await shows("[done] You said one [done] You said two ");
    const contexts = await core.rpc.listTasks({ contextId: chat.contextId ?? "" });
    expect(contexts.tasks).toHaveLength(2);
    await close();
    await open(createElement(Chat, { of: client() }));
    await shows("[done] You said one [done] You said two ");
  });

  it.each([true, false])(
    "knows after a reload whether a message without an answer may be sent again (%s)",
    async (may) => {
      const extensions = may ? [{ uri: IDEMPOTENCY_EXTENSION }] : [];
      const card = create(AgentCardSchema, { capabilities: { extensions } });
      const keys: (string | undefined)[] = [];
      const of = (answer: ReturnType<typeof client>["stream"]) => ({
        ...client(),
        card,
        stream: (...[message, options]: Parameters<ReturnType<typeof client>["stream"]>) => {
          keys.push(options?.idempotencyKey);
          return answer(message, options);
        },
      });
      const silent = { [Symbol.asyncIterator]: () => ({ next: () => new Promise<never>(() => {}) }) };
      await open(createElement(Chat, { of: of(() => silent as unknown as ReturnType<typeof stream>) }));
      await act(async () => chat.send("hello"));
      await shows("[streaming] ");
      await close();
      await open(createElement(Chat, { of: of(client().stream) }));
      await shows(may ? "[done] You said hello " : "[failed] ");
      if (may) expect(new Set(keys).size).toBe(1);
      else expect(chat.turns[0]?.error?.metadata).toEqual({ arrival: "unknown" });
      expect(keys).toHaveLength(may ? 2 : 1);
    },
  );

  it("answers a question, with the text of each turn apart", async () => {
    await open(createElement(Chat, { of: client() }));
    await act(async () => chat.send("ask"));
    await shows("[done] Which one?");
    const asked = chat.taskId;
    expect(asked).toBeDefined();
    await act(async () => chat.send("this"));
    await shows("[done] Which one?[done] You said this ");
    expect(chat.turns.map(({ taskId }) => taskId)).toEqual([asked, asked]);
    await act(async () => chat.reset());
    expect([chat.turns.length, storage.kept.size]).toEqual([0, 0]);
  });

  it("stops a turn by canceling its task", async () => {
    isReleased = false;
    await open(createElement(Chat, { of: client() }));
    await act(async () => chat.send("no end"));
    await shows("[streaming] Thinking.You said no end ");
    await act(async () => chat.stop());
    await expect.poll(() => act(async () => chat.turns[0]?.phase)).toBe("done");
    const { tasks } = await core.rpc.listTasks({ contextId: chat.contextId ?? "" });
    // TASK_STATE_CANCELED
    expect(tasks.map(({ status }) => status?.state)).toEqual([5]);
  });
});

describe("useTask()", () => {
  it("shows a task from its present state on, and lets go of it when the page goes", async () => {
    isReleased = false;
    const talk = conversation(core);
    const begun = talk.stream("a task");
    const { value } = await begun.next();
    const of = client();
    await open(createElement(Task, { of, id: undefined }));
    expect(page()).toBe(". ");
    await open(createElement(Task, { of, id: value?.task?.id }));
    await shows("… You said a task ");
    isReleased = true;
    await shows(". You said a task ");
    await begun.return();
  });
});

describe("docs/client-pages.md", () => {
  it("shows a page that works", async () => {
    const [block] = blocksOf("docs/client-pages.md").filter(({ language }) => language === "jsx");
    const file = join(projectRoot, ".cache", "docs", "chat.mjs");
    const hooks = join(projectRoot, "src/client/react/index.ts");
    await build({
      stdin: { contents: block?.text ?? "", loader: "jsx", resolveDir: projectRoot },
      alias: { "parley-a2a/client/react": hooks },
      external: ["react", "react/jsx-runtime"],
      jsx: "automatic",
      bundle: true,
      format: "esm",
      outfile: file,
    });
    const { Chat: Shown } = await import(pathToFileURL(file).href);
    Object.assign(globalThis, { sessionStorage: storage });
    await open(createElement(Shown, { client: client() }));
    const { document } = window;
    const input = document.querySelector("input") as unknown as { value: string };
    input.value = "hello";
    const form = document.querySelector("form") as unknown as { requestSubmit(): void };
    await act(async () => form.requestSubmit());
    await shows("helloYou said hello Send");
  });
});
