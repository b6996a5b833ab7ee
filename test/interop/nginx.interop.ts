import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Driver } from "../support/driver.js";
import {
  expectNothingLost,
  expectOwnAddress,
  expectOwnAddressOverGrpc,
  expectPassedOn,
  RESTARTS_MS,
} from "./support/restarts.js";
import { freePorts, nginxIn, program, Site } from "./support/site.js";
import { run, succeed } from "./support/tool.js";

let site: Site;
let drivers: Driver[] = [];

beforeAll(async () => {
  await program("nginx", "nginx", "-v");
  site = new Site(await freePorts());
  const args = nginxIn(site);
  const { code, stderr } = await run("nginx", [...args, "-t"]);
  expect(code, stderr).toBe(0);
  await site.open("nginx", args);
  drivers = site.drivers();
});

afterAll(async () => {
  for (const driver of drivers) driver.close();
  await site?.close();
});

describe("nginx as in deploy/nginx", () => {
  it("passes on every binding, and events when they happen", () => expectPassedOn(drivers));

  it("replaces forwarded headers that a client forges", () => expectOwnAddress(site));

  it("replaces them for gRPC too", () => expectOwnAddressOverGrpc(site));

  it("speaks TLS to clients, and cards have its address", async () => {
    const { tls } = site.ports.front;
    const url = `https://localhost:${tls}/.well-known/agent-card.json`;
    const card = JSON.parse(await succeed("curl", ["-sSk", "--max-time", "30", url]));
    const urls = card.supportedInterfaces.map((each: { url: string }) => each.url);
    expect(urls).toContain(`https://localhost:${tls}`);
  });
});

describe("two servers that are restarted in turn behind nginx", () => {
  it("fail no call and lose no event", { timeout: RESTARTS_MS }, () => expectNothingLost(site, drivers));
});
