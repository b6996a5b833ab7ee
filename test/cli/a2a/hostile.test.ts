import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { parsedJson } from "../../../src/wire/parsed-json.js";
import { type Json, runIn } from "./world.js";

/** Contains control sequences of a terminal and every way to change the direction of text. */
const evil = "E\u001b[2J\u009b31m\u202eR\u200fM\u2066\u2028\u0000\u007f\rend";

/** Characters that must not reach a terminal. */
const unsafe = /[^\P{Cc}\n]|[\p{Bidi_Control}\p{Zl}\p{Zp}]/u;

describe("an agent that means harm", { timeout: 30_000 }, () => {
  let server: Server | undefined;
  afterEach(() => {
    server?.closeAllConnections();
    server?.close();
  });

  /** Serves a hostile agent. @param own members of its card @param answer answers a JSON-RPC call */
  async function serve(
    own: (url: string) => object,
    answer: (json: Json, response: ServerResponse, authorization: string) => Json,
  ): Promise<string> {
    const agent = createServer(async (request, response) => {
      let body = "";
      for await (const piece of request) body += piece;
      const url = `http://127.0.0.1:${(agent.address() as AddressInfo).port}`;
      const interfaces = [{ url, protocolBinding: "JSONRPC", protocolVersion: "1.0" }];
      const card = { name: "Harm", capabilities: {}, supportedInterfaces: interfaces, ...own(url) };
      const isCard = request.url?.includes("agent-card") === true;
      const { authorization = "" } = request.headers;
      const json = isCard ? card : answer(parsedJson(body) ?? {}, response, authorization);
      response.setHeader("content-type", "application/json").end(JSON.stringify(json));
    }).listen(0, "127.0.0.1");
    server = agent;
    await new Promise((resolve) => agent.once("listening", resolve));
    return `127.0.0.1:${(agent.address() as AddressInfo).port}`;
  }

  const failing = ({ id }: Json, _: ServerResponse, authorization = "") => ({
    ...{ jsonrpc: "2.0", id, error: { code: -32_602, message: `${evil} ${authorization}` } },
  });

  const task = ({ id, method }: Json) => {
    const parts = [{ text: evil }, { data: { [evil]: evil } }, { url: evil, filename: evil, mediaType: evil }];
    const status = { state: "TASK_STATE_COMPLETED", message: { messageId: evil, role: "ROLE_AGENT", parts } };
    const own = { id: evil, contextId: evil, status, artifacts: [{ artifactId: evil, name: evil, parts }] };
    return { jsonrpc: "2.0", id, result: method === "GetTask" ? own : { task: own } };
  };

  it.each(["ping", "doctor", "conformance"])("drives no terminal by its card, with %s", async (words) => {
    const strange = (url: string) => ({
      name: evil,
      version: evil,
      supportedInterfaces: [
        { url, protocolBinding: "JSONRPC", protocolVersion: "1.0" },
        { url: evil, protocolBinding: evil, protocolVersion: evil },
      ],
    });
    const agent = await serve(strange, failing);
    for (const form of [["-v"], ["-o", "json"]]) {
      const { out, err } = await runIn([words, "-a", agent, ...form]);
      expect(out).toContain("[2J");
      expect(out + err).not.toMatch(unsafe);
    }
  });

  it.each([["-v"], ["-q"], ["-o", "json"], ["-o", "jsonl"]])(
    "drives no terminal by its answer, with %s",
    async (...form) => {
      const agent = await serve(() => ({}), task);
      const { exit, out, err } = await runIn(["send", "hi", "-a", agent, ...form]);
      expect(exit).toBe(0);
      expect(out).toContain("[2J");
      expect(out + err).not.toMatch(unsafe);
      if (form.includes("-o")) expect(JSON.parse(out).task).toMatchObject({ id: evil, contextId: evil });
    },
  );

  it.each(["ping", "doctor", "conformance"])("has %s repeat no credential", async (words) => {
    const agent = await serve(() => ({}), failing);
    const { out, err } = await runIn([words, "-a", agent, "--bearer", "s3cr3t-token", "-v"]);
    expect(out).toContain("[redacted]");
    expect(out + err).not.toContain("s3cr3t");
  });

  it.each(["ping", "doctor", "conformance"])("has %s call 64 of its interfaces", async (words) => {
    const many = (url: string) => ({
      supportedInterfaces: Array.from({ length: 70 }, (_, at) => ({
        ...{ url: `${url}/${at}`, protocolBinding: "urn:x:pigeon", protocolVersion: "1.0" },
      })).with(0, { url, protocolBinding: "JSONRPC", protocolVersion: "1.0" }),
    });
    const agent = await serve(many, failing);
    const { out, err } = await runIn([words, "-a", agent]);
    expect(err).toContain("warning: the card has 70 interfaces; the first 64 are called\n");
    expect(out.match(/over urn:x:pigeon/g)).toHaveLength(63);
  });

  it.each([
    [1, 1],
    [2 * 1024 * 1024, 0],
  ])("has doctor keep a task of %i bytes for %i comparisons", async (size, comparisons) => {
    const two = (url: string) => ({
      supportedInterfaces: ["/1", "/2"].map((path) => ({
        ...{ url: url + path, protocolBinding: "JSONRPC", protocolVersion: "1.0" },
      })),
    });
    const artifacts = [{ artifactId: "a", parts: [{ text: "x".repeat(size) }] }];
    const own = { id: "t1", contextId: "c1", status: { state: "TASK_STATE_COMPLETED" }, artifacts };
    const agent = await serve(two, (json, response) => {
      if (json.method === "SendMessage") return { jsonrpc: "2.0", id: json.id, result: { task: own } };
      if (json.method === "GetTask" && json.params.id === "t1") return { jsonrpc: "2.0", id: json.id, result: own };
      return failing(json, response);
    });
    const { json } = await runIn(["doctor", "-a", agent, "-o", "json"]);
    expect(json.checks.filter(({ check }: Json) => check === "alike")).toHaveLength(comparisons);
  });

  it("has doctor call an interface once that does not answer in time", async () => {
    let calls = 0;
    const rest = (url: string) => ({
      supportedInterfaces: [{ url, protocolBinding: "HTTP+JSON", protocolVersion: "1.0" }],
    });
    const agent = await serve(rest, (_, response) => {
      calls++;
      response.statusCode = 504;
      return { error: { code: 504, status: "DEADLINE_EXCEEDED", message: "late" } };
    });
    const { json } = await runIn(["doctor", "-a", agent, "-o", "json"]);
    const ofInterface = json.checks.filter(({ binding }: Json) => binding === "HTTP+JSON");
    expect(ofInterface.map(({ check, result }: Json) => `${check} ${result}`)).toEqual(["reachable fail"]);
    expect(calls).toBe(1);
  });
});
