import { describe, expect, it } from "vitest";
import { A2AError } from "../../../src/core/error.js";
import type { TargetLookup, TargetOptions } from "../../../src/push/options.js";
import { TargetGuard } from "../../../src/push/target/guard.js";
import { pushLookup } from "../../../src/push/target/lookup.js";
import { setConstants } from "../../support/constants.js";

const guardWith = (options: TargetOptions = {}): TargetGuard => new TargetGuard(options);

/** Names and their addresses, as a look-up of the guard. */
const names =
  (table: Readonly<Record<string, readonly string[]>>): TargetLookup =>
  async (host) => {
    const addresses = table[host];
    if (addresses === undefined) throw Object.assign(new Error(`no ${host}`), { code: "ENOTFOUND" });
    return addresses.map((address) => ({ address, family: address.includes(":") ? 6 : 4 }));
  };

async function refusal(work: () => unknown): Promise<A2AError> {
  const error = await Promise.resolve()
    .then(work)
    .then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
  if (!(error instanceof A2AError)) throw new Error(`not refused but ${String(error)}`);
  return error;
}

describe("TargetGuard.parse()", () => {
  it("gives the URL, and the host that limits and failures are counted by", () => {
    const target = guardWith().parse("https://Hooks.Example.com./a2a?key=1");
    expect(target.url.href).toBe("https://hooks.example.com/a2a?key=1");
    expect(target.host).toBe("https://hooks.example.com:443");
  });

  it.each([
    ["", "not an absolute https URL"],
    ["/hook", "not an absolute https URL"],
    ["ftp://example.com/", "not an absolute https URL"],
    ["https:example.com", "not an absolute https URL"],
    ["https:///example.com", "not an absolute https URL"],
    ["https://", "not an absolute https URL"],
    ["http://example.com/", "not https"],
    ["https://user:secret@example.com/", "credentials"],
    ["https://@example.com/", "credentials"],
    ["https://example.com/#part", "fragment"],
    ["https://example.com/#", "fragment"],
    ["https://exam%70le.com/", "encoded host"],
    ["https://example.com/a b", "spaces"],
    ["https://example.com\t/", "spaces"],
    [" https://example.com/", "not an absolute https URL"],
    ["https://example.com\\@8.8.8.8/", "backslashes"],
    ["https://0x8.8.8.8/", "in another way"],
    ["https://010.8.8.8/", "in another way"],
    ["https://134744072/", "in another way"],
    ["https://8.8.2056/", "in another way"],
    ["https://8.8.8.8./", "in another way"],
    ["https://８.8.8.8/", "in another way"],
    ["https://example.com:8443/", "port"],
    ["https://example.com:80/", "port"],
    ["https://example.com:0/", "port"],
    ["https://exa*mple.com/", "host name"],
    ["https://-example.com/", "host name"],
    ["https://a..example.com/", "host name"],
    ["https://example.com../", "host name"],
    [`https://${"a".repeat(64)}.example.com/`, "host name"],
    [`https://example.com/${"a".repeat(2_048)}`, "2048 characters"],
  ])("refuses %j", async (url, why) => {
    const error = await refusal(() => guardWith().parse(url));
    expect(error.reason).toBe("INVALID_PARAMS");
    expect(error.violations).toEqual([{ field: "url", description: expect.stringContaining(why) }]);
  });

  it("takes http, and other ports, where options say so", async () => {
    expect(guardWith({ allowHttp: true }).parse("http://example.com/").host).toBe("http://example.com:80");
    expect(guardWith({ ports: [8443] }).parse("https://example.com:8443/").host).toBe("https://example.com:8443");
    await refusal(() => guardWith({ ports: [8443] }).parse("https://example.com/"));
  });
});

describe("TargetGuard.check()", () => {
  it("takes a name with public addresses", async () => {
    const guard = guardWith({
      lookup: names({ "example.com": ["93.184.216.34", "2606:2800:220:1:248:1893:25c8:1946"] }),
    });
    expect((await guard.check("https://example.com/hook")).url.pathname).toBe("/hook");
  });

  it("says the same of a name that does not resolve and of one that leads inside, and no address", async () => {
    const guard = guardWith({
      lookup: names({
        "inside.example.com": ["10.1.2.3"],
        "half.example.com": ["8.8.8.8", "10.1.2.3"],
        "none.example.com": [],
      }),
    });
    const said = await Promise.all(
      ["inside", "half", "none", "absent"].map(async (name) => {
        const error = await refusal(() => guard.check(`https://${name}.example.com/`));
        return { reason: error.reason, message: error.message, violations: error.violations };
      }),
    );
    expect(new Set(said.map((each) => JSON.stringify(each))).size).toBe(1);
    expect(said[0]).toMatchObject({ reason: "INVALID_PARAMS", violations: [{ field: "url" }] });
    expect(JSON.stringify(said)).not.toContain("10.1.2.3");
  });

  it("is UNAVAILABLE where the name cannot be looked up at the moment, and waits for a bounded time", async () => {
    const failing = guardWith({
      lookup: () => Promise.reject(Object.assign(new Error("later"), { code: "EAI_AGAIN" })),
    });
    expect((await refusal(() => failing.check("https://example.com/"))).reason).toBe("UNAVAILABLE");
    setConstants(pushLookup, { timeoutMs: 20 });
    const silent = guardWith({ lookup: () => new Promise(() => {}) });
    expect((await refusal(() => silent.check("https://example.com/"))).reason).toBe("UNAVAILABLE");
  });

  it("looks a name up once for all who ask at the same time, and 64 names at most", async () => {
    const asked: string[] = [];
    setConstants(pushLookup, { timeoutMs: 200 });
    const guard = guardWith({
      lookup: (host) => {
        asked.push(host);
        return new Promise(() => {});
      },
    });
    const many = Array.from({ length: 100 }, (_, i) => refusal(() => guard.check(`https://n${i}.example.com/`)));
    const same = Array.from({ length: 100 }, () => refusal(() => guard.check("https://n1.example.com/")));
    await expect.poll(() => asked.length, { interval: 10 }).toBe(64);
    for (const error of await Promise.all([...many, ...same])) expect(error.reason).toBe("UNAVAILABLE");
    expect(new Set(asked).size).toBe(asked.length);
  });
});

describe("many names at once", () => {
  it("wait for their turn, also behind one that never answers", async () => {
    let running = 0;
    let most = 0;
    const guard = guardWith({
      lookup: async (host) => {
        if (host.startsWith("never")) return new Promise(() => {});
        running++;
        most = Math.max(most, running);
        await new Promise((resolve) => setTimeout(resolve, 2));
        running--;
        return [{ address: "93.184.216.34", family: 4 }];
      },
    });
    const never = guard.check("https://never.example.com/");
    const silent = refusal(() => never);
    const checks = Array.from({ length: 500 }, (_, i) => guard.check(`https://n${i}.example.com/`));
    expect(await Promise.all(checks)).toHaveLength(500);
    expect(most).toBe(63);
    expect((await silent).reason).toBe("UNAVAILABLE");
  });

  it("are too many at some point, and are not looked up when nobody waits for them any more", async () => {
    const ends: (() => void)[] = [];
    setConstants(pushLookup, { timeoutMs: 300 });
    const guard = guardWith({
      lookup: () => new Promise((resolve) => ends.push(() => resolve([{ address: "93.184.216.34", family: 4 }]))),
    });
    const checks = Array.from({ length: 2_000 }, (_, i) => refusal(() => guard.check(`https://n${i}.example.com/`)));
    await expect.poll(() => ends.length, { interval: 10 }).toBe(64);
    for (const error of await Promise.all(checks)) expect(error.reason).toBe("UNAVAILABLE");
    // Of those that got the places of the first some had time left.
    expect(ends.length).toBeLessThanOrEqual(128);
    for (const end of ends.splice(0)) end();
    await expect
      .poll(async () => {
        const late = guard.check("https://late.example.com/").then(
          () => true,
          () => false,
        );
        for (const end of ends.splice(0)) end();
        return late;
      })
      .toBe(true);
    expect(ends.length).toBe(0);
  });
});

describe("allow and deny", () => {
  const lookup = names({
    "hooks.corp.example": ["10.1.2.3"],
    "a.corp.example": ["10.1.2.4"],
    localhost: ["127.0.0.1", "::1"],
    "aws.corp.example": ["169.254.169.254"],
    "public.example.com": ["93.184.216.34"],
  });

  it.each<[string, TargetOptions, string, boolean]>([
    ["nothing opens a private address", {}, "https://hooks.corp.example/", false],
    ["an exact name", { allow: ["hooks.corp.example"] }, "https://hooks.corp.example/", true],
    ["an exact name alone", { allow: ["corp.example"] }, "https://hooks.corp.example/", false],
    ["names below one", { allow: ["*.corp.example"] }, "https://hooks.corp.example/", true],
    ["names below one, but not it", { allow: ["*.hooks.corp.example"] }, "https://hooks.corp.example/", false],
    ["no name that only ends like it", { allow: ["*.orp.example"] }, "https://hooks.corp.example/", false],
    ["a network", { allow: ["10.0.0.0/8"] }, "https://hooks.corp.example/", true],
    ["a network that it is not in", { allow: ["10.2.0.0/16"] }, "https://hooks.corp.example/", false],
    ["an address", { allow: ["10.1.2.3"] }, "https://hooks.corp.example/", true],
    ["an address that is written", { allow: ["10.1.2.3"] }, "https://10.1.2.3/", true],
    ["a network around it", { allow: ["10.0.0.0/8"] }, "https://10.1.2.3/", true],
    ["an address as IPv6 maps it", { allow: ["::ffff:10.1.2.0/120"] }, "https://10.1.2.3/", true],
    ["an address that is mapped in the URL", { allow: ["10.1.2.3"] }, "https://[::ffff:10.1.2.3]/", true],
    ["a name of inner networks", { allow: ["localhost"] }, "https://localhost/", true],
    ["networks alone do not open such a name", { allow: ["127.0.0.0/8", "::1"] }, "https://localhost/", false],
    [
      "deny wins over a name",
      { allow: ["hooks.corp.example"], deny: ["*.corp.example"] },
      "https://hooks.corp.example/",
      false,
    ],
    [
      "deny wins over a network",
      { allow: ["10.0.0.0/8"], deny: ["10.1.0.0/16"] },
      "https://hooks.corp.example/",
      false,
    ],
    [
      "a denied network in an allowed name",
      { allow: ["*.corp.example"], deny: ["10.1.2.3"] },
      "https://hooks.corp.example/",
      false,
    ],
    ["its neighbour is not denied", { allow: ["*.corp.example"], deny: ["10.1.2.3"] }, "https://a.corp.example/", true],
    ["deny of a public name", { deny: ["public.example.com"] }, "https://public.example.com/", false],
    [
      "deny in capitals and with the root's dot",
      { deny: ["Public.Example.COM."] },
      "https://public.example.com/",
      false,
    ],
    ["deny is not evaded by the root's dot", { deny: ["public.example.com"] }, "https://public.example.com./", false],
    ["deny of a public network", { deny: ["93.184.0.0/16"] }, "https://public.example.com/", false],
    ["deny is not evaded by IPv6", { deny: ["93.184.0.0/16"] }, "https://[::ffff:93.184.216.34]/", false],
    [
      "credentials of the machine stay closed in an allowed name",
      { allow: ["*.corp.example"] },
      "https://aws.corp.example/",
      false,
    ],
    ["and in an allowed network", { allow: ["169.254.0.0/16"] }, "https://169.254.169.254/", false],
    ["but for its very address", { allow: ["169.254.169.254"] }, "https://169.254.169.254/", true],
    ["NAT64 of a public address", { allow: ["64:ff9b::/96"] }, "https://[64:ff9b::8.8.8.8]/", true],
    ["NAT64 opens no private address", { allow: ["64:ff9b::/96"] }, "https://[64:ff9b::10.1.2.3]/", false],
    ["but with both", { allow: ["64:ff9b::/96", "10.0.0.0/8"] }, "https://[64:ff9b::10.1.2.3]/", true],
    ["6to4 of a public address", { allow: ["2002::/16"] }, "https://[2002:808:808::1]/", true],
    ["6to4 opens no private address", { allow: ["2002::/16"] }, "https://[2002:a01:203::1]/", false],
    ["deny looks into 6to4", { allow: ["2002::/16"], deny: ["8.8.8.0/24"] }, "https://[2002:808:808::1]/", false],
    ["Teredo of public addresses", { allow: ["2001::/32"] }, "https://[2001:0:808:808::a247:27dd]/", true],
    ["Teredo opens no private client", { allow: ["2001::/32"] }, "https://[2001:0:808:808::f5fe:fdfc]/", false],
    ["nor a private server", { allow: ["2001::/32"] }, "https://[2001:0:a01:203::a247:27dd]/", false],
    [
      "deny looks into Teredo",
      { allow: ["2001::/32"], deny: ["93.184.0.0/16"] },
      "https://[2001:0:808:808::a247:27dd]/",
      false,
    ],
    ["deny looks into ISATAP", { deny: ["8.8.8.0/24"] }, "https://[2a00:1450::5efe:8.8.8.8]/", false],
    ["deny looks into NAT64", { allow: ["64:ff9b::/96"], deny: ["8.8.8.0/24"] }, "https://[64:ff9b::8.8.8.8]/", false],
    [
      "NAT64 opens no credentials",
      { allow: ["64:ff9b::/96", "0.0.0.0/0"] },
      "https://[64:ff9b::169.254.169.254]/",
      false,
    ],
  ])("%s", async (_, options, url, opens) => {
    const check = guardWith({ ...options, lookup }).check(url);
    if (opens) expect((await check).url.protocol).toBe("https:");
    else expect((await refusal(() => check)).reason).toBe("INVALID_PARAMS");
  });

  it.each([
    "",
    "exa mple.com",
    "10.0.0.0/33",
    "10.0.0/8",
    "::1/129",
    "fe80::1%eth0",
    "*.",
    "*",
    "127.1",
    "http://a.example",
  ])("%j is no host", (rule) => {
    expect(() => guardWith({ allow: [rule] })).toThrow(TypeError);
  });
});
