import { join } from "node:path";
import { afterAll, beforeAll, describe, it } from "vitest";
import { root } from "../e2e/support/build.js";
import type { Driver } from "../support/driver.js";
import {
  expectNothingLost,
  expectOwnAddress,
  expectOwnAddressOverGrpc,
  expectPassedOn,
  RESTARTS_MS,
} from "./support/restarts.js";
import { caddyIn, freePorts, program, Site } from "./support/site.js";
import { succeed } from "./support/tool.js";

let site: Site;
let drivers: Driver[] = [];

beforeAll(async () => {
  await program("caddy", "caddy", "version");
  site = new Site(await freePorts());
  await site.open("caddy", caddyIn(site));
  drivers = site.drivers();
});

afterAll(async () => {
  for (const driver of drivers) driver.close();
  await site?.close();
});

describe("Caddy as in deploy/caddy", () => {
  it("accepts the file as it is", async () => {
    const file = join(root, "deploy/caddy/Caddyfile");
    await succeed("caddy", ["validate", "--adapter", "caddyfile", "--config", file]);
  });

  it("passes on every binding, and events when they happen", () => expectPassedOn(drivers));

  it("removes forwarded headers that a client forges", () => expectOwnAddress(site));

  it("removes them for gRPC too", () => expectOwnAddressOverGrpc(site));

  it("fails no call and loses no event while two servers are restarted in turn", { timeout: RESTARTS_MS }, () =>
    expectNothingLost(site, drivers),
  );
});
