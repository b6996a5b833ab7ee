import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";

/** An agent that answers with its own events, which a message's text selects. */
export interface HostileAgent {
  readonly url: string;
  close(): Promise<void>;
}

const status = (state: string, parts?: readonly object[], at = 0): object => ({
  state: `TASK_STATE_${state}`,
  ...(parts !== undefined && { message: { messageId: `m${at}`, role: "ROLE_AGENT", parts } }),
});
const task = (state: string, more: object = {}): object => ({
  task: { id: "t", contextId: "c", status: status(state), ...more },
});
const update = (...given: Parameters<typeof status>): object => ({
  statusUpdate: { taskId: "t", contextId: "c", status: status(...given) },
});
const artifact = (id: string, ...parts: readonly object[]): object => ({
  artifactUpdate: { taskId: "t", contextId: "c", artifact: { artifactId: id, name: id, parts } },
});
const many = <T>(count: number, make: (at: number) => T): T[] => Array.from({ length: count }, (_, at) => make(at));
const done = (...events: readonly object[]): object[] => [task("WORKING"), ...events, update("COMPLETED")];
const asks = (...parts: readonly object[]): object[] => [
  task("WORKING"),
  update("INPUT_REQUIRED", [{ text: "?" }, ...parts]),
];
const markdown = (text: string): object[] => done(artifact("a", { text, mediaType: "text/markdown" }));
const form = (schema: object): object[] => asks({ data: { type: "form", form: schema } });

const version = "v0.9.1";
const catalogId = "https://a2ui.org/specification/v0_9/catalogs/basic/catalog.json";

function surface(components: readonly object[], value: object = {}): object[] {
  const data = [
    { version, createSurface: { surfaceId: "s", catalogId } },
    { version, updateDataModel: { surfaceId: "s", value } },
    { version, updateComponents: { surfaceId: "s", components } },
  ];
  return asks({ data, metadata: { mimeType: "application/a2ui+json" } });
}

const column = (id: string, ...children: readonly string[]): object => ({ id, component: "Column", children });
const list = (id: string, componentId: string): object => ({
  id,
  component: "List",
  children: { componentId, path: "/items" },
});
const leaf = { id: "leaf", component: "Text", text: "x" };
const items = { items: many(100, () => ({})) };

/** A drawing with levels, each of which repeats the level below ten times. */
const copies = many(30, (at) => `<g id="g${at + 1}">${`<use href="#g${at}"/>`.repeat(10)}</g>`).join("");
const svg = `<svg xmlns="http://www.w3.org/2000/svg"><g id="g0"><path d="M0 0h9v9"/></g>${copies}<use href="#g30"/></svg>`;

const weird = [
  "__proto__",
  "constructor",
  "../../..",
  "a#b?c=d/e%2f",
  "a\nb\u2028c",
  "\u202Egnp.exe",
  "x".repeat(1_000_000),
];

/** Answers that would hang or break a page that trusts them. */
export const hostile: Readonly<Record<string, readonly object[]>> = {
  messages: done(...many(10_000, (at) => update("WORKING", [{ text: `step ${at}` }], at))),
  history: [
    task("COMPLETED", {
      history: many(10_000, (at) => ({ messageId: `h${at}`, role: at % 2 ? "ROLE_USER" : "ROLE_AGENT", parts: [] })),
    }),
  ],
  events: done(
    ...many(10_000, (at) => ({
      artifactUpdate: {
        ...{ taskId: "t", contextId: "c", append: at > 0 },
        artifact: { artifactId: "a", parts: [{ text: `${at} ` }] },
      },
    })),
  ),
  artifacts: done(...many(5_000, (at) => artifact(`a${at}`, { text: `${at}` }))),
  images: done(artifact("a", ...many(5_000, () => ({ raw: "iVBORw0KGgo=", mediaType: "image/png" })))),
  data: done(artifact("a", ...many(5_000, (at) => ({ data: { at } })))),
  quotes: markdown(`${">".repeat(5_000)} x`),
  headings: markdown("a\n=\n".repeat(20_000)),
  notes: markdown(`${"[^1]".repeat(10_000)}\n\n[^1]: x`),
  copies: done(artifact("a", { raw: Buffer.from(svg).toString("base64"), mediaType: "image/svg+xml" })),
  rows: form({ type: "array", minItems: 1e8, items: { type: "string" } }),
  rowsInRows: form({
    ...{ type: "array", minItems: 100 },
    items: { type: "array", minItems: 100, items: { type: "array", minItems: 100, items: { type: "string" } } },
  }),
  loop: form({ type: "object", properties: { a: { $ref: "#/properties/b" }, b: { $ref: "#/properties/a" } } }),
  doubling: surface([
    column("root", ...many(10, () => "l0")),
    ...many(12, (at) => column(`l${at}`, ...many(10, () => (at < 11 ? `l${at + 1}` : "leaf")))),
    leaf,
  ]),
  levels: surface([...many(5_000, (at) => column(at === 0 ? "root" : `l${at}`, `l${at + 1}`)), leaf]),
  lists: surface([list("root", "l1"), list("l1", "l2"), list("l2", "leaf"), leaf], items),
  itself: surface([list("root", "root")], items),
  options: surface([
    {
      ...{ id: "root", component: "ChoicePicker", label: "x", value: { path: "/x" } },
      options: many(20_000, (at) => ({ label: `${at}`, value: `${at}` })),
    },
  ]),
  prototype: surface([{ id: "root", component: "TextField", label: "x", value: { path: "/__proto__/harmed" } }]),
  backwards: [task("COMPLETED"), update("WORKING"), update("INPUT_REQUIRED"), update("COMPLETED")],
  ...Object.fromEntries(
    weird.map((id, at) => [
      `id${at}`,
      [
        { task: { id, contextId: id, status: { ...status("WORKING"), timestamp: "9999-12-31T23:59:59Z" } } },
        {
          artifactUpdate: { taskId: id, contextId: id, artifact: { artifactId: id, name: id, parts: [{ text: id }] } },
        },
        { statusUpdate: { taskId: id, contextId: id, status: status("COMPLETED") } },
      ],
    ]),
  ),
};

/** Starts an agent that answers with `hostile` over JSON-RPC. @param name name on its card */
export async function serveHostile(name = "Hostile"): Promise<HostileAgent> {
  const server: Server = createServer(async (request, response) => {
    const { port } = server.address() as AddressInfo;
    const body = Buffer.concat(await request.toArray()).toString();
    if (request.method === "GET") return void response.end(JSON.stringify(cardAt(`http://127.0.0.1:${port}`, name)));
    const { id, params } = JSON.parse(body);
    response.setHeader("content-type", "text/event-stream");
    for (const result of hostile[params?.message?.parts?.[0]?.text] ?? []) {
      response.write(`data: ${JSON.stringify({ jsonrpc: "2.0", id, result })}\n\n`);
    }
    response.end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}

function cardAt(url: string, name: string): object {
  return {
    ...{ name, description: "Means harm.", version: "1.0.0", provider: { organization: name, url } },
    supportedInterfaces: [{ url, protocolBinding: "JSONRPC", protocolVersion: "1.0" }],
    capabilities: { streaming: true, extensions: [{ uri: "https://a2ui.org/a2a-extension/a2ui/v0.9.1" }] },
    ...{ defaultInputModes: ["*/*"], defaultOutputModes: ["*/*"] },
    skills: [{ id: "harm", name: "Harm", description: "Does harm.", tags: ["harm"] }],
  };
}
