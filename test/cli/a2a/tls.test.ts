import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { httpBearerScheme, mutualTlsScheme } from "../../../src/auth/index.js";
import { Certificates } from "../../server/certificates.js";
import { testTls } from "../../server/tls.js";
import { some } from "../../support/cover.js";
import { freePort } from "../../support/free-port.js";
import { openWorld, runIn, type World } from "./world.js";

const token = "s3cret-token-of-the-test";
const quick = ["--poll-interval", "20ms"];
const transports = some(["rest", "grpc"], ["jsonrpc"]);
const certificates = new Certificates();
const authority = certificates.make("The authority of the clients");
const mine = certificates.make("me", { by: authority });
afterAll(() => certificates.clean());

describe("a server whose certificate signs itself", { timeout: 60_000 }, () => {
  let world: World;
  beforeAll(async () => {
    const bearer = httpBearerScheme({ check: (given) => (given === token ? { owner: "me" } : undefined) });
    world = await openWorld({ tls: testTls, agent: { security: { schemes: { bearer } } } });
  });
  afterAll(() => world.close());
  const argv = (transport: string) => ["send", "hi", "-a", "https://AGENT", "--transport", transport, ...quick];
  const env = { A2ACLI_BEARER: token };

  it.each(transports)("A2ACLI_DEFAULT_001 is not called over %s, and gets no credential", async (transport) => {
    const { exit, json } = await world.run([...argv(transport), "-o", "json"], { env });
    expect({ exit, code: json.error.code }).toEqual({ exit: 3, code: "A2ACLI_ERR_UNREACHABLE" });
    expect(world.seen).toEqual([]);
  });

  it.each(transports)("A2ACLI_AUTH_003 is called with --insecure over %s, with a warning", async (transport) => {
    const { exit, err } = await world.run([...argv(transport), "--insecure"], { env });
    expect(exit, err).toBe(0);
    expect(err).toContain("warning: CERTIFICATES ARE NOT VERIFIED (--insecure), AND CREDENTIALS ARE SENT");
    expect(err).not.toContain("s3cret");
    world.seen.splice(0);
  });

  it.each(transports)("is called over %s if its certificate is trusted by --ca", async (transport) => {
    const files = { "ca.pem": testTls.cert };
    const { exit, err } = await world.run([...argv(transport), "--ca", "ca.pem"], { env, files });
    expect(exit, err).toBe(0);
    expect(err).not.toContain("NOT VERIFIED");
    world.seen.splice(0);
  });

  it("is not trusted because of a file that came with a folder", async () => {
    const files = { ".env": "A2ACLI_CA=ca.pem\n", "ca.pem": testTls.cert };
    const { exit, err } = await world.run(argv("rest"), { env, files });
    expect(exit).toBe(3);
    expect(err).toContain("A2ACLI_CA in");
  });
});

describe("A2ACLI_AUTH_009 an agent that requires mutual TLS", { timeout: 60_000 }, () => {
  let world: World;
  beforeAll(async () => {
    world = await openWorld({
      tls: { ...testTls, ca: authority.cert },
      agent: { security: { schemes: { client: mutualTlsScheme() } } },
    });
  });
  afterAll(() => world.close());
  const files = { "ca.pem": testTls.cert, "me.pem": mine.cert, "me.key": mine.key, "bad.pem": "nothing" };
  const run = (transport: string, ...more: string[]) =>
    world.run(
      [
        "send",
        "hi",
        "-a",
        "https://AGENT",
        "--ca",
        "ca.pem",
        "--transport",
        transport,
        "-o",
        "json",
        ...quick,
        ...more,
      ],
      { files },
    );

  it.each(transports)("is called over %s with a certificate", async (transport) => {
    const { exit, err, json } = await run(transport, "--cert", "me.pem", "--cert-key", "me.key");
    expect(exit, err).toBe(0);
    expect(json.task.status.state).toBe("TASK_STATE_COMPLETED");
  });

  it("is not called without one", async () => {
    const { exit, json } = await run("rest");
    expect({ exit, code: json.error.code }).toEqual({ exit: 4, code: "A2ACLI_ERR_CREDENTIALS_MISSING" });
  });

  it.each([
    [["--cert", "me.pem"], "--cert needs --cert-key"],
    [["--cert-key", "me.key"], "--cert-key needs --cert"],
    [["--cert", "none.pem", "--cert-key", "me.key"], "--cert: "],
    [["--cert", "bad.pem", "--cert-key", "me.key"], "--cert, --cert-key, --ca: "],
  ])("reports %j", async (more, said) => {
    const { exit, json } = await run("rest", ...more);
    expect(exit).toBe(2);
    expect(json.error.message).toContain(said);
  });
});

describe("an interface that is not there", { timeout: 60_000 }, () => {
  const commands = [
    ["task", "subscribe", "t1"],
    ["task", "get", "t1", "--wait"],
    ["send", "hi"],
    ["send", "hi", "--stream"],
  ];
  const rows = commands.flatMap((command) => transports.map((transport) => ({ command, transport })));

  it.each(rows)("A2ACLI_EXIT_001 ends $command over $transport at once, with 3", async ({ command, transport }) => {
    const endpoint = `http://127.0.0.1:${await freePort()}`;
    // The timeout is disabled, so a command that retries would not end.
    const more = ["-e", endpoint, "--transport", transport, "--timeout", "0", "-o", "json"];
    const { exit, json } = await runIn([...command, ...more]);
    expect({ exit, code: json.error.code }).toEqual({ exit: 3, code: "A2ACLI_ERR_UNREACHABLE" });
  });
});
