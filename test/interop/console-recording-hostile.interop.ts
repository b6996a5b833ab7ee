import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { afterAll, afterEach, describe, expect, it } from "vitest";
import { fitsIn, isHarmed, PATIENCE } from "./console/talk.js";
import { useConsoles, workerAgent } from "./console/use-console.js";

const used = useConsoles({ agent: workerAgent, isKept: true }, /ERR_|Failed to load/);
const folder = mkdtempSync(join(tmpdir(), "parley-hostile-"));
const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});
afterAll(() => rmSync(folder, { recursive: true }));

const head = '{"format":"parley-recording","version":1}\n';
const answer = (text: string): string => `{"message":[{"text":"${text}"}],"artifacts":[]}`;
const turn = (given: string): string => `{"message":{"parts":[{"text":"hi"}]},"answer":${given}}\n`;
const turns = (page: Page) => page.getByRole("region", { name: "Turns" }).getByRole("listitem");

/** Opens a file in the page. */
async function openText(text: string, search = ""): Promise<Page> {
  const { page, go } = used.opened;
  const file = join(folder, "hostile.jsonl");
  writeFileSync(file, text);
  await go(`recording${search}`);
  await page.getByRole("heading", { name: "Replay a conversation" }).waitFor(PATIENCE);
  await page.locator("input[type=file]").setInputFiles(file);
  return page;
}

describe("a recording that means harm", () => {
  it("is refused with half a million turns", async () => {
    const page = await openText(head + turn(answer("x")).repeat(500_000));
    await expect.poll(() => page.getByRole("alert").textContent(), PATIENCE).toContain("more than 1,000 turns");
  });

  it.each([
    ["an answer of 30 million lines", turn(answer("\\n".repeat(30_000_000)))],
    ["an answer of one line", turn(answer("x".repeat(60_000_000)))],
    [
      "names of prototypes",
      turn(
        '{"__proto__":{"harmed":true},"message":[{"data":{"__proto__":{"harmed":true},"constructor":{}}}],"artifacts":[]}',
      ),
    ],
    [
      "a time that is an object",
      turn(answer("x")).replace('{"message"', '{"tookMs":{"toString":1,"valueOf":1},"message"'),
    ],
    ["a time without an end", turn(answer("x")).replace('{"message"', '{"tookMs":1e999,"message"')],
    ["a text that turns", turn(answer("\u202Egnp.exe"))],
  ])("is shown within the limits: %s", async (_what, line) => {
    const page = await openText(head + line);
    await expect.poll(() => turns(page).count(), PATIENCE).toBe(1);
    expect(await fitsIn(page)).toBe(true);
    expect(await page.evaluate("'harmed' in {}")).toBe(false);
    expect(await isHarmed(page)).toBe(false);
    expect(await page.evaluate("document.querySelectorAll('*').length")).toBeLessThan(5_000);
    await page.getByRole("combobox", { name: "Compare" }).selectOption("shape");
    expect(page.url()).toContain("compare=shape");
  });
});

/** Starts an agent that answers messages with a function. */
async function serve(
  act: (response: ServerResponse, id: unknown) => void,
): Promise<{ url: string; left: () => number }> {
  let left = 0;
  const server = createServer(async (request, response) => {
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const body = Buffer.concat(await request.toArray()).toString();
    if (request.method === "GET") {
      const card = {
        ...{ name: "Endless", description: "Never ends.", version: "1.0.0", capabilities: { streaming: true } },
        supportedInterfaces: [{ url, protocolBinding: "JSONRPC", protocolVersion: "1.0" }],
        ...{ defaultInputModes: ["*/*"], defaultOutputModes: ["*/*"], skills: [] },
      };
      return void response.end(JSON.stringify(card));
    }
    response.on("close", () => void left++);
    act(response, JSON.parse(body).id);
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, left: () => left };
}

function endless(response: ServerResponse, id: unknown): void {
  const send = (result: object): boolean =>
    response.write(`data: ${JSON.stringify({ jsonrpc: "2.0", id, result })}\n\n`);
  response.setHeader("content-type", "text/event-stream");
  send({ task: { id: "t", contextId: "c", status: { state: "TASK_STATE_WORKING" } } });
  const parts = [{ text: "x".repeat(1_000) }];
  const go = setInterval(() => {
    for (let at = 0; at < 5; at++) {
      const status = { state: "TASK_STATE_WORKING", message: { messageId: `${at}`, role: "ROLE_AGENT", parts } };
      send({ statusUpdate: { taskId: "t", contextId: "c", status } });
    }
  }, 5);
  response.on("close", () => clearInterval(go));
}

describe("a replay with an agent that means harm", () => {
  it.each([
    ["does not answer", (): void => {}],
    ["answers without an end", endless],
  ])("stops when its agent %s", async (_what, act) => {
    const { url, left } = await serve(act);
    const page = await openText(head + turn(answer("x")), `?agent=${encodeURIComponent(url)}`);
    await page.getByRole("button", { name: "Replay", exact: true }).click();
    await page.getByText("Running").first().waitFor(PATIENCE);
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    await page.getByRole("combobox", { name: "Compare" }).selectOption("shape");
    await page.getByRole("button", { name: "Stop", exact: true }).click();
    await expect
      .poll(() => page.getByRole("status").allTextContents(), PATIENCE)
      .toContainEqual(expect.stringMatching(/[Ss]topped/));
    await expect.poll(left, PATIENCE).toBeGreaterThan(0);
  });
});
