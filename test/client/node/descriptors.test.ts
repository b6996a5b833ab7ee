import { execFile } from "node:child_process";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { build, root } from "../../e2e/support/build.js";

const message = { kind: "message", messageId: "a", role: "agent", parts: [{ kind: "text", text: "hi" }] };
let server: Server;

beforeAll(async () => {
  build();
  server = createServer((request, response) => {
    let text = "";
    request.on("data", (chunk) => {
      text += chunk;
    });
    request.on("end", () => {
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify({ jsonrpc: "2.0", id: JSON.parse(text).id, result: message }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
});

afterAll(() => {
  server.closeAllConnections();
  server.close();
});

/** A process that calls an agent of 0.3 while all its file descriptors are in use. */
const program = `
  import { openSync, closeSync } from "node:fs";
  const { connect } = await import(process.argv[1]);
  const card = JSON.parse(process.argv[2]);
  const told = [];
  const without = async (call) => {
    const taken = [];
    try { for (;;) taken.push(openSync(process.execPath)); } catch {}
    told.push(await call().then(() => "done", ({ reason }) => reason));
    for (const each of taken) closeSync(each);
  };
  await without(() => connect(card));
  const agent = await connect(card);
  await without(() => agent.send("go"));
  told.push((await agent.send("go")).text);
  await agent.close();
  console.log(JSON.stringify(told));
`;

describe.skipIf(process.platform === "win32")("a client without a file descriptor left", { timeout: 60_000 }, () => {
  it("calls an agent of an earlier version when there are some again", async () => {
    const { port } = server.address() as AddressInfo;
    const url = `http://127.0.0.1:${port}/`;
    const card = { name: "Old", description: "Old.", version: "1", protocolVersion: "0.3.0", url, capabilities: {} };
    const client = join(root, "dist/src/client/index.js");
    const node = [process.execPath, "--input-type=module", "-e", program, client, JSON.stringify(card)];
    const { stdout } = await promisify(execFile)("sh", ["-c", 'ulimit -n 128; exec "$@"', "sh", ...node]);
    expect(JSON.parse(stdout)).toEqual(["INTERNAL", "INTERNAL", "hi"]);
  });
});
