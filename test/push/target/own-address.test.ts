import { describe, expect, it, vi } from "vitest";
import { TargetGuard } from "../../../src/push/target/guard.js";

// No machine that runs tests has public addresses to give away.
vi.mock("node:os", async (original) => ({
  ...(await original<typeof import("node:os")>()),
  networkInterfaces: () => ({
    eth0: [{ address: "93.184.216.34" }, { address: "2606:2800:220:1:0:0:0:1" }, { address: "fe80::1%eth0" }],
  }),
}));

const lookup = async (): Promise<{ address: string; family: number }[]> => [{ address: "93.184.216.34", family: 4 }];

describe("this machine's own addresses", () => {
  it.each(["93.184.216.34", "[::ffff:93.184.216.34]", "[2606:2800:220:1::1]", "www.example.com"])(
    "are not reached at %s, although they are public",
    async (host) => {
      const check = new TargetGuard({ lookup }).check(`https://${host}/`);
      await expect(check).rejects.toMatchObject({ reason: "INVALID_PARAMS" });
    },
  );

  it("are reached where they are allowed, and their neighbours always", async () => {
    await new TargetGuard({ allow: ["93.184.216.34"] }).check("https://93.184.216.34/");
    await new TargetGuard({}).check("https://93.184.216.35/");
  });
});
