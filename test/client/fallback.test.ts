import { describe, expect, it } from "vitest";
import type { Agent } from "../../src/agent/agent.js";
import { artifact } from "../../src/agent/event.js";
import { bindings } from "../../src/client/discovery/interfaces.js";
import { gate } from "../engine/support.js";
import { cardJson } from "./card-server.js";
import { connect, echo, proxyTo, serve } from "./world.js";

describe.each(bindings)("an interface of %s that is lost while an answer comes", (binding) => {
  it("is replaced by the card's next one for the rest of the answer, and used again later", {
    timeout: 30_000,
  }, async () => {
    const lost = gate();
    const agent: Agent = {
      ...echo,
      responds: "task",
      async *execute(turn) {
        yield artifact({ name: "n", text: `${turn.text} `, append: true });
        await lost.opened;
        for (const text of ["two ", "three"]) yield artifact({ name: "n", text, append: true });
      },
    };
    const server = await serve({ agent });
    const proxy = await proxyTo(Number(binding === "GRPC" ? server.grpcPort : new URL(server.url).port));
    const preferred = binding === "GRPC" ? proxy.host : `http://${proxy.host}`;
    const named = binding === "CONNECT" || binding === "GRPC-WEB" ? "urn:parley:binding:connect:v1" : binding;
    const interfaces = [
      [named, preferred],
      [binding === "JSONRPC" ? "HTTP+JSON" : "JSONRPC", server.url],
    ];
    const supportedInterfaces = interfaces.map(([protocolBinding, url]) => {
      return { protocolBinding, url, protocolVersion: "1.0" };
    });
    const { capabilities } = server.card;
    const card = cardJson({
      supportedInterfaces,
      capabilities: { streaming: true, extensions: capabilities?.extensions },
    });
    const client = await connect(card, { prefer: binding, limits: { interfaceRestMs: 2_000 } });
    let text = "";
    for await (const update of client.stream("one")) {
      text += update.text;
      if (text !== "one ") continue;
      expect(client.interface.url).toBe(preferred);
      proxy.mode = "close";
      proxy.cut();
      lost.open();
    }
    expect(text).toBe("one two three");
    expect(client.interface.url).toBe(server.url);
    expect((await client.send("a further ")).text).toBe("a further  two three");
    proxy.mode = "pass";
    await expect.poll(() => client.interface.url, { timeout: 15_000 }).toBe(preferred);
    const before = proxy.connections;
    expect((await client.listTasks({})).totalSize).toBe(2);
    expect(proxy.connections).toBe(before + 1);
    expect(client.interface.url).toBe(preferred);
  });
});
