import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { closedPort, proxyTo } from "../../client/world.js";
import { openWorld, type World } from "./world.js";

let world: World;
beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world.close());

type Interface = readonly [binding: string, url: string];

/** Writes the server's card with other interfaces as a file. */
async function cardWith(...interfaces: readonly Interface[]): Promise<Record<string, string>> {
  const card = (await (await fetch(`${world.server.url}/.well-known/agent-card.json`)).json()) as object;
  const supportedInterfaces = interfaces.map(([protocolBinding, url]) => {
    return { protocolBinding, url, protocolVersion: "1.0" };
  });
  return { "card.json": JSON.stringify({ ...card, supportedInterfaces }) };
}

describe.each([
  ["JSONRPC", "HTTP+JSON"],
  ["HTTP+JSON", "JSONRPC"],
  ["GRPC", "JSONRPC"],
  ["urn:parley:binding:connect:v1", "JSONRPC"],
])("a command whose interface of %s is lost", (binding, other) => {
  const port = (): number => Number(binding === "GRPC" ? world.server.grpcPort : new URL(world.server.url).port);
  const at = (host: string): string => (binding === "GRPC" ? host : `http://${host}`);

  it("continues with the card's next interface in the middle of an answer", async () => {
    const proxy = await proxyTo(port());
    const files = await cardWith([binding, at(proxy.host)], [other, world.server.url]);
    const onOutput = (): void => {
      if (proxy.mode === "close") return;
      proxy.mode = "close";
      proxy.cut();
    };
    const { exit, out } = await world.run(["chat", "-a", "card.json", "stream 4 4 200"], { files, onOutput });
    expect([exit, out.trim()]).toEqual([0, "1 ..2 ..3 ..4 .."]);
    expect(proxy.mode).toBe("close");
  });

  it("starts with the next interface when the first one is down", async () => {
    const host = `127.0.0.1:${await closedPort()}`;
    const files = await cardWith([binding, at(host)], [other, world.server.url]);
    const { exit, out } = await world.run(["send", "-a", "card.json", "-q", "echo hello"], { files });
    expect([exit, out]).toEqual([0, "hello\n"]);
    const alone = await world.run(["send", "-a", "card.json", "echo hello"], {
      files: await cardWith([binding, at(host)]),
    });
    expect([alone.exit, alone.err]).toEqual([3, expect.stringContaining("A2ACLI_ERR_UNREACHABLE")]);
  });
});

describe("a command", () => {
  it("replaces no interface by one of another transport, tenant or host that it must not use", async () => {
    const away = `http://127.0.0.1:${await closedPort()}`;
    const files = await cardWith(["JSONRPC", away], ["HTTP+JSON", world.server.url]);
    const send = ["send", "-a", "card.json", "-q", "echo hello"];
    expect((await world.run([...send, "--transport", "JSONRPC"], { files })).exit).toBe(3);
    const both = ["--transport", "JSONRPC", "--transport", "HTTP+JSON"];
    expect((await world.run([...send, ...both], { files })).exit).toBe(0);
    const secret = ["--svc-param", "authorization:Bearer t"];
    expect((await world.run([...send, ...secret], { files })).exit).toBe(0);
    const elsewhere = await cardWith(["JSONRPC", "http://away.invalid:1"], ["HTTP+JSON", world.server.url]);
    expect((await world.run([...send, ...secret], { files: elsewhere })).exit).toBe(3);
  });
});
