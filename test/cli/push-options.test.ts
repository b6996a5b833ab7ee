import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it, vi } from "vitest";
import { type CommandOptions, commandTable } from "../../src/cli/command-options.js";
import { pushOf } from "../../src/cli/push-options.js";
import type { PushOptions } from "../../src/push/options.js";
import { build } from "../e2e/support/build.js";
import { probe, type Run, ready, workplaces } from "./cli.js";

build();
const place = workplaces();
afterEach(() => vi.unstubAllEnvs());

const key = Buffer.alloc(32, 7).toString("base64");
const older = Buffer.alloc(32, 8).toString("hex");

/** Parses values of flags as the command line does. */
function given(texts: Partial<Record<keyof CommandOptions, string>>): Partial<CommandOptions> {
  const values = Object.entries(texts).map(([name, text]) => [
    name,
    (commandTable[name as keyof CommandOptions].kind.read as (text: string) => unknown)(text),
  ]);
  return Object.fromEntries(values) as Partial<CommandOptions>;
}

function file(name: string, text: string, mode = 0o600): string {
  const path = join(place.path, name);
  writeFileSync(path, text);
  chmodSync(path, mode);
  return path;
}

const warnings: string[] = [];
const made = (push: boolean | PushOptions | undefined, texts: Parameters<typeof given>[0] = {}): unknown =>
  pushOf(push, given(texts), (sentence) => warnings.push(sentence));

describe("pushOf()", () => {
  it("takes what the module says where no flag says more", () => {
    for (const push of [undefined, false, true, { allowHttp: true }]) expect(made(push)).toBe(push);
  });

  it("puts the flags before what the module says", () => {
    const module = { allowHttp: true, ports: [1], deny: ["a.example"], encryptionKeys: [older] };
    const flags = {
      pushPorts: "443, 8443",
      pushAllow: "*.internal.example,10.1.0.0/16",
      pushEvents: "status,artifact",
    };
    expect(made(module, flags)).toEqual({
      ...module,
      ports: [443, 8443],
      allow: ["*.internal.example", "10.1.0.0/16"],
      events: ["status", "artifact"],
    });
    expect(made(true, { pushAllowHttp: "true", pushDeny: "b.example" })).toEqual({
      allowHttp: true,
      deny: ["b.example"],
    });
  });

  it("reads keys and certificates from files, and secrets from variables too", () => {
    vi.stubEnv("PUSH_KEY", ` ${key}\n`);
    vi.stubEnv("HOOK_SECRET", "whsec_abc");
    const flags = {
      pushEncryptionKey: `env:PUSH_KEY,${file("older", `${older}\n`)}`,
      pushSigningKey: file("sign.pem", "PEM"),
      pushWebhookSecret: `env:HOOK_SECRET,${file("hook", "whsec_def\n")}`,
      pushTlsCa: file("ca.pem", "CA"),
      pushTlsCert: file("cert.pem", "CERT"),
      pushTlsKey: file("key.pem", "KEY"),
    };
    expect(made({ signing: { keys: [] } }, flags)).toEqual({
      encryptionKeys: [key, older],
      signing: { keys: [{ key: "PEM" }], webhookSecrets: ["whsec_abc", "whsec_def"] },
      tls: { ca: "CA", cert: "CERT", key: "KEY" },
    });
  });

  it("says what is wrong without a word of what is secret", () => {
    vi.stubEnv("PUSH_KEY", undefined);
    const missing = join(place.path, "none");
    const attempts: [Parameters<typeof given>[0], string][] = [
      [{ pushEncryptionKey: "env:PUSH_KEY" }, "the variable PUSH_KEY, which --push-encryption-key names, is not set"],
      [{ pushEncryptionKey: missing }, `cannot read the key ${missing}`],
      [{ pushPorts: "https" }, '--push-ports: "https" is not a port'],
    ];
    for (const [flags, fault] of attempts) expect(() => made(true, flags)).toThrow(fault);
    expect(() => made(undefined, { pushAllowHttp: "true" })).toThrow("--push-allow-http needs --push");
    expect(() => made(false, { pushEncryptionKey: "env:PUSH_KEY" })).toThrow("--push-encryption-key needs --push");
    expect(made(undefined, { pushAllowHttp: "false" })).toBeUndefined();
  });

  it.runIf(process.platform !== "win32")("warns of keys that others can read", () => {
    warnings.length = 0;
    made(true, { pushEncryptionKey: file("open", key, 0o644) });
    expect(warnings).toEqual([expect.stringContaining("other users of this machine can read the private key")]);
  });
});

describe("parley serve with --push", { timeout: 60_000 }, () => {
  const flags = ["--port", "0", "--grpc-port", "0", "--store", "memory"];
  const serve = (...more: string[]): Run => place.run(["serve", probe, ...flags, ...more]);
  const declared = async (run: Run): Promise<unknown> => {
    const { url } = await ready(run);
    const card = await (await fetch(`${url}/.well-known/agent-card.json`)).json();
    return (card as { capabilities: { pushNotifications?: boolean } }).capabilities.pushNotifications;
  };

  it("declares push notifications, and otherwise does not", async () => {
    expect(await declared(serve("--push", "--push-allow-http"))).toBe(true);
    expect(await declared(serve())).toBe(false);
  });

  it("says in one line what is wrong", async () => {
    const bad = serve("--push", "--push-events", "everything");
    expect(await bad.exited).toBe(2);
    expect(bad.stderr().trim().split("\n").at(-1)).toContain('push.events[0] is "everything", not "task", "status"');
  });
});
