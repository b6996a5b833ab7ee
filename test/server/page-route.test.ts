import { execFile } from "node:child_process";
import * as http from "node:http";
import { promisify } from "node:util";
import { afterEach, describe, expect, it } from "vitest";
import { type Agent, completed, createA2A, createServer, type ServerOptions } from "../../src/index.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { obedient } from "../conformance/agents.js";

const closing: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

async function start(options: Partial<ServerOptions>): Promise<string> {
  const agent = options.agents === undefined && options.agent === undefined ? { agent: obedient("paged") } : {};
  const server = await createServer({
    ...agent,
    store: memoryStore(),
    port: 0,
    grpcPort: false,
    ...options,
  } as ServerOptions);
  closing.push(() => server.close({ graceMs: 0 }));
  return `http://127.0.0.1:${server.port}`;
}

/** Titles of the commands that the page shows. */
const commands = [
  ...["JSON-RPC", "HTTP+JSON (REST)", "gRPC", "Connect and gRPC-Web"].flatMap((title) => [title, `${title}, A2A 1.1`]),
  ...["JSON-RPC", "HTTP+JSON (REST)", "gRPC"].map((title) => `${title}, A2A 0.3`),
  ...["JSON-RPC, A2A 0.2", "JSON-RPC, A2A 0.1"],
].sort();

function unescaped(html: string): string {
  return html.replaceAll("&quot;", '"').replaceAll("&#39;", "'").replaceAll("&amp;", "&");
}

const browser = { headers: { accept: "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8" } };

describe("the page of an agent", () => {
  it("is what a browser gets at the root, and no other client", async () => {
    const url = await start({});
    const page = await fetch(url, browser);
    expect(page.status).toBe(200);
    expect(page.headers.get("content-type")).toBe("text/html; charset=utf-8");
    expect(page.headers.get("content-security-policy")).toContain("default-src 'none'");
    expect(page.headers.get("vary")).toBe("accept");
    expect(await page.text()).toContain("<h1>paged</h1>");
    const programs = ["application/json", "text/html;q=0, application/json", "application/json, */*", "*/*;q=0"];
    for (const accept of [...programs, "text/event-stream"]) {
      const answer = await fetch(url, { headers: { accept } });
      expect([answer.status, answer.headers.get("allow")], accept).toEqual([405, "POST"]);
      expect(answer.headers.get("content-type")).toContain("json");
    }
    const call = { jsonrpc: "2.0", id: 1, method: "ListTasks", params: {} };
    const headers = { ...browser.headers, "content-type": "application/json" };
    expect((await fetch(url, { method: "POST", headers, body: JSON.stringify(call) })).status).toBe(200);
    const head = await fetch(url, { ...browser, method: "HEAD" });
    expect([head.status, await head.text()]).toEqual([200, ""]);
  });

  it("is a few lines of text for who takes anything, as curl does", async () => {
    const url = await start({});
    for (const accept of ["*/*", "text/plain", "text/*;q=0.5, */*;q=0.1"]) {
      const answer = await fetch(`${url}/`, { headers: { accept } });
      expect([answer.status, answer.headers.get("content-type")]).toEqual([200, "text/plain; charset=utf-8"]);
      expect(answer.headers.get("vary")).toBe("accept");
      const text = await answer.text();
      expect(text).toMatch(/^paged 1\.2\.3: /);
      const [, card = ""] = /Agent card +(\S+)$/m.exec(text) ?? [];
      expect(await (await fetch(card)).json()).toMatchObject({ name: "paged" });
      for (const title of ["JSON-RPC", "HTTP\\+JSON"]) expect(text).toMatch(new RegExp(`^ +${title}.* ${url}`, "m"));
      expect(text).toContain(`curl -s '${url}/message:send'`);
    }
    const several = await start({ agents: { billing: obedient("billing"), south: obedient("south") } });
    const south = await (await fetch(`${several}/south`)).text();
    expect(south).toContain(`${several}/south/.well-known/agent-card.json`);
    expect((await fetch(`${several}/other`)).status).toBe(404);
  });

  it("is there for each of several agents", async () => {
    const url = await start({ agents: { billing: obedient("billing"), süd: obedient("south") } });
    const [root, south] = await Promise.all(
      ["/", "/s%C3%BCd"].map(async (path) => (await fetch(url + path, browser)).text()),
    );
    expect(root).toContain("<h1>billing</h1>");
    expect(root).toContain('data-base="/billing"');
    expect(south).toContain("<h1>south</h1>");
    expect(south).toContain('data-base="/s%C3%BCd"');
    expect((await fetch(`${url}/other`, browser)).status).toBe(404);
  });

  it("has a command for each interface of each version, which a shell runs as it is", async () => {
    const echo: Agent = {
      card: { name: "Echo", description: "Says it again.", version: "1.0.0", skills: [] },
      async *execute({ text }) {
        yield completed(`heard ${text}`);
      },
    };
    const shared = { grpcPort: 0, preview: "1.1" } as const;
    const alone = await start({ agent: echo, ...shared });
    const several = await start({ agents: { echo, süd: echo }, ...shared });
    // gRPC of 0.3 has no place for a tenant.
    const ofTenants = commands.filter((title) => title !== "gRPC, A2A 0.3");
    for (const [url, expected] of [
      [alone, commands],
      [several, ofTenants],
      [`${several}/s%C3%BCd`, ofTenants],
    ] as const) {
      const page = await (await fetch(url, browser)).text();
      const shown = [...page.matchAll(/<h3>([^<]+)<\/h3>\n<p[^>]*>.*?<\/p><div class="command"><pre>([^<]+)<\/pre>/g)];
      expect(shown.map(([, title]) => title).sort()).toEqual(expected);
      // Twice: a second task, or the same one again, but no error.
      for (const [, title = "", command = ""] of [...shown, ...shown]) {
        if (title.startsWith("gRPC")) continue;
        const { stdout } = await promisify(execFile)("sh", ["-c", unescaped(command)]);
        expect(stdout, title).toContain("heard hello");
      }
    }
  });

  it("can be turned off", async () => {
    const url = await start({ page: false });
    expect((await fetch(url, browser)).status).toBe(405);
  });

  it("is not at the root of an embedding server, unless it is switched on", async () => {
    for (const page of [undefined, true]) {
      const more = page === undefined ? {} : { page };
      const a2a = createA2A({ agent: obedient("paged"), store: memoryStore(), ...more });
      const server = http.createServer((request, response) => {
        a2a.handler(request, response, () => response.end("the host's own"));
      });
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
      closing.push(async () => {
        server.closeAllConnections();
        server.close();
        await a2a.close();
      });
      const { port } = server.address() as { port: number };
      const text = await (await fetch(`http://127.0.0.1:${port}`, browser)).text();
      expect(text.includes("<h1>paged</h1>")).toBe(page === true);
      expect(text.includes("the host's own")).toBe(page !== true);
    }
  });
});
