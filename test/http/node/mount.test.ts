import { once } from "node:events";
import type { AddressInfo } from "node:net";
import express from "express";
import { describe, expect, it } from "vitest";
import { mountOf } from "../../../src/http/node/mount.js";
import type { NodeServerRequest } from "../../../src/http/node/types.js";

/** The path of the handler and the rest of the URL, as an app that mounts at a pattern reports them. */
async function seen(pattern: string, path: string): Promise<unknown> {
  const app = express();
  app.use(pattern, (request, response) => void response.json(mountOf(request as unknown as NodeServerRequest)));
  const server = app.listen(0, "127.0.0.1");
  await once(server, "listening");
  try {
    const response = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`);
    return response.ok ? await response.json() : response.status;
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

describe("mountOf()", () => {
  it.each([
    ["/", "/message:send?a=b", { path: "", url: "/message:send?a=b" }],
    ["/agents", "/agents", { path: "/agents", url: "/" }],
    ["/agents", "/agents/tasks/1?a=b", { path: "/agents", url: "/tasks/1?a=b" }],
    ["/:tenant", "/a%20b/tasks/1", { path: "/a%20b", url: "/tasks/1" }],
    ["/{*splat}", "/message:send", { path: "", url: "/message:send" }],
    ["/{*splat}", "/tasks/a%2Fb?c=d", { path: "", url: "/tasks/a%2Fb?c=d" }],
    ["/agents{/*splat}", "/agents", { path: "/agents", url: "/" }],
    ["/agents/*splat", "/agents/tasks/1/", { path: "/agents", url: "/tasks/1/" }],
    ["/agents{/*splat}", "/agents/?a=b", { path: "/agents", url: "/?a=b" }],
    ["/:tenant/*splat", "/one/tasks/1", { path: "/one", url: "/tasks/1" }],
  ])("at %s for %s", async (pattern, path, expected) => {
    expect(await seen(pattern, path)).toEqual(expected);
  });
});
