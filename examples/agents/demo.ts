import { mkdirSync } from "node:fs";
import open from "open";
import { type Agent, createServer } from "parley-a2a";
import { connect } from "parley-a2a/client";
import { sqliteStore } from "parley-a2a/store/sqlite";

// `npm run demo` serves every example agent and prints what to say to each. It opens the console, where a guide shows
// what to try. The tasks are kept in .cache/demo, so that conversations continue after a restart, also after one in the
// middle of an answer.

/** A running agent. */
interface Running {
  readonly url: string;
  stop(): Promise<void>;
}

/** An agent, and what to say to it. */
interface Example {
  readonly running: Running;
  readonly says: readonly string[];
}

const folder = process.env.DEMO_FOLDER ?? ".cache/demo";
mkdirSync(folder, { recursive: true });

/** The usual port of an agent; any free one for tests, which have a folder of their own. */
const at = (port: number): number => (process.env.DEMO_FOLDER === undefined ? port : 0);

/** Serves the agent that a module exports. */
async function serve(name: string, { agent }: { readonly agent: Agent }, port: number): Promise<Running> {
  const server = await createServer({
    agent,
    store: sqliteStore({ path: `${folder}/${name}.db` }),
    port,
    grpcPort: false,
  });
  return { url: server.url, stop: () => server.close() };
}

/** All agents that run. */
interface Demo {
  readonly examples: readonly Example[];
  /** Opens the guide in the console. */
  readonly link: string;
}

/** Starts all agents, the host that knows the others, and the guide. */
async function start(): Promise<Demo> {
  const agents: readonly Example[] = [
    {
      says: ["How much is 100 USD in GBP?", "How much is 10 USD?", "CAD"],
      running: await serve("currency", await import("./currency/agent.js"), at(10_000)),
    },
    {
      says: ["Draw a sailboat on the ocean", "Make the sailboat red", "Add a sun, and give me a link"],
      running: await (await import("./image/server.js")).start(at(10_001), `${folder}/image`),
    },
    {
      says: [
        "Can you reimburse me $20 for my lunch with the clients?",
        "It was on 2025-05-02.",
        "yes",
        "What is the status of my request?",
      ],
      running: await serve("expenses", await import("./expenses/agent.js"), at(10_002)),
    },
    {
      says: ["Which came out first, Jurassic Park or Terminator 2?", "Recommend a good movie."],
      running: await serve("movies", await import("./movies/agent.js"), at(10_003)),
    },
    {
      says: ["Create an HTTP server in TypeScript", "Listen on port 8080 instead", "Add tests"],
      running: await serve("coder", await import("./coder/agent.js"), at(10_004)),
    },
    {
      says: [
        "Add 2 and 3",
        "Divide 6",
        'book_table "Roma"',
        '{"tool":"countdown","arguments":{"from":5,"pauseMs":500}}',
      ],
      running: await serve("mcp-bridge", await import("./mcp-bridge/agent.js"), at(10_006)),
    },
    {
      says: ["Draw a chart.", "10, 20, 30", "Compare the sales of 2024 and 2025."],
      running: await serve("charts", await import("./charts/agent.js"), at(10_005)),
    },
  ];

  const addresses = agents.map(({ running }) => running.url);
  const { start: startHost } = await import("./host/server.js");
  const host = await startHost(at(10_010), addresses, { folder: `${folder}/host`, console: true });
  const hosting: Example = {
    says: [
      "Reimburse my lunch for 20 EUR, I need it in USD first",
      "How much is 100 USD in GBP and create an HTTP server in TypeScript",
    ],
    running: host,
  };
  const guide = await serveGuide(new URL(host.server.consoleUrl ?? ""), [...agents, hosting]);
  return { examples: [...agents, guide.example, hosting], link: guide.link };
}

/** Serves the guide, which links to the others in the console. */
async function serveGuide(console: URL, examples: readonly Example[]): Promise<{ example: Example; link: string }> {
  const { guideOf } = await import("./guide/agent.js");
  const urls = examples.map(({ running }) => running.url);
  const names = await Promise.all(urls.map(nameAt));
  const agents = Object.fromEntries(names.map((name, index) => [name, urls[index] ?? ""]));
  const page = new URL(console.pathname, console).href;
  const running = await serve("guide", { agent: guideOf({ console: page, agents }) }, at(10_011));
  const link = new URL(`talk?${new URLSearchParams({ agent: running.url, text: "start" })}`, page);
  link.hash = console.hash;
  return { example: { says: ["start", "next"], running }, link: link.href };
}

/** Returns the name in the card of an agent. */
async function nameAt(url: string): Promise<string> {
  const client = await connect(url);
  await client.close();
  return client.card.name;
}

const { examples, link } = await start().catch((error: Error) => {
  // Usually a port that is in use. The server's own text suggests options that the demo does not have.
  const { message } = error.cause instanceof Error ? error.cause : error;
  process.stderr.write(`The demo cannot start: ${message}\n`);
  process.exit(1);
});

process.stdout.write("Open an address in a browser and talk to the agent. For example, say:\n\n");
for (const { running, says } of examples) {
  process.stdout.write(`${running.url}  ${await nameAt(running.url)}\n${says.map((text) => `  ${text}\n`).join("")}\n`);
}
process.stdout.write(`The console, with a guide to it:\n  ${link}\n\nCtrl-C ends all of them.\n`);
// A test has a folder of its own, and a machine without a browser shows the link at least.
if (process.env.DEMO_FOLDER === undefined) await open(link).catch(() => {});

// The bridge's MCP server is a process that would keep this one running.
const stop = (): void => {
  void Promise.all(examples.map(({ running }) => running.stop())).then(() => process.exit());
};
process.once("SIGINT", stop).once("SIGTERM", stop);
