import { connect } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { ForbiddenTarget, TargetGuard } from "../../../src/push/target/guard.js";
import { guardedConnector } from "../../../src/push/target/post.js";
import { here, World } from "./receiver.js";

const world = new World();
afterEach(() => world.close());

describe("guardedConnector()", () => {
  it("judges a socket by the address that it got, however it came to it", async () => {
    const port = await world.tcp(() => {});
    const { allow: _, ...options } = here(port);
    const guard = new TargetGuard(options);
    // Skips the check of the look-up's answer.
    const blind = Object.create(guard, {
      lookup: {
        value: (_: string, { all }: { all?: boolean }, callback: (...each: unknown[]) => void) => {
          const found = { address: "127.0.0.1", family: 4 };
          if (all) callback(null, [found]);
          else callback(null, found.address, found.family);
        },
      },
      admit: { value: () => {} },
      judge: { value: guard.judge.bind(guard) },
    }) as TargetGuard;
    const connector = guardedConnector(blind, {});
    const at = { hostname: "hooks.example.com", protocol: "http:", port: `${port}` };
    const [error, socket] = await new Promise<unknown[]>((resolve) => connector(at, (...result) => resolve(result)));
    expect(error).toBeInstanceOf(ForbiddenTarget);
    expect(socket).toBeNull();
  });

  it("gives a look-up as sockets want it", async () => {
    const port = await world.tcp((socket) => socket.end());
    const guard = new TargetGuard({ ...here(port), lookup: async () => [{ address: "127.0.0.1", family: 4 }] });
    for (const options of [{ family: 4 as const }, { family: 0 as const }, { autoSelectFamily: true }]) {
      const socket = connect({ host: "localhost", port, lookup: guard.lookup, ...options });
      await new Promise((resolve, reject) => socket.once("connect", resolve).once("error", reject));
      expect(socket.remoteAddress).toBe("127.0.0.1");
      socket.destroy();
    }
    const socket = connect({ host: "localhost", port, lookup: guard.lookup, family: 6 });
    const error = await new Promise((resolve) => socket.once("error", resolve));
    expect(error).toMatchObject({ code: "ENOTFOUND" });
  });
});
