import * as http from "node:http";
import { afterEach, describe, expect, it } from "vitest";
import { createA2A, createServer, type ServerOptions } from "../../src/index.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { obedient } from "../conformance/agents.js";

const closing: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

async function start(options: Partial<ServerOptions>): Promise<string> {
  const agent = options.agents === undefined ? { agent: obedient("paged") } : {};
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
