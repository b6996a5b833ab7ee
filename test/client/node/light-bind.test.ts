import { AsyncLocalStorage, AsyncResource } from "node:async_hooks";
import { createClient } from "@connectrpc/connect";
import { afterEach, describe, expect, it, vi } from "vitest";
import { A2AService, Role } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { createTransport } from "../../../src/client/index.js";
import { withLightBind } from "../../../src/client/node/sessions.js";
import { atEnd, serve } from "../world.js";

const { bind } = AsyncResource.prototype;
/** True if functions bound by Node.js itself have the property. */
const isHeavy = Object.hasOwn(
  new AsyncResource("test").bind(() => {}),
  "asyncResource",
);
const storage = new AsyncLocalStorage<string>();

afterEach(() => expect(AsyncResource.prototype.bind).toBe(bind));

describe("withLightBind()", () => {
  it("binds functions without the deprecated property", () => {
    const bound = withLightBind(() => new AsyncResource("test").bind(() => {}));
    expect(Object.hasOwn(bound, "asyncResource")).toBe(false);
  });

  it.each([
    ["of the call", undefined],
    ["that was given", { name: "given" }],
  ])("binds functions to the context of the resource, and to the this %s", (_, thisArg) => {
    function work(this: unknown, ...args: unknown[]): unknown {
      return { store: storage.getStore(), this: this, args };
    }
    const made = (): unknown => {
      const resource = new AsyncResource("test");
      return Reflect.apply(resource.bind, resource, [work, thisArg]);
    };
    const caller = { name: "caller" };
    const called = [made, () => withLightBind(made)].map((make) => {
      const bound = storage.run("inside", make) as typeof work;
      return bound.call(caller, 1, 2);
    });
    expect(called[0]).toEqual({ store: "inside", this: thisArg ?? caller, args: [1, 2] });
    expect(called[1]).toEqual(called[0]);
  });

  it("leaves Node's own after work that fails, and after work inside of work", () => {
    const fail = (): never => {
      throw new Error("no");
    };
    expect(() => withLightBind(() => withLightBind(fail))).toThrow("no");
  });
});

describe("a call over gRPC", () => {
  it("does not call Node's own bind, and leaves it", async () => {
    const server = await serve();
    const transport = createTransport("GRPC", `http://127.0.0.1:${server.grpcPort}`);
    atEnd(() => transport.close());
    const rpc = createClient(A2AService, transport);
    const own = vi.spyOn(AsyncResource.prototype, "bind");
    const spied = AsyncResource.prototype.bind;
    const parts = [{ content: { case: "text" as const, value: "say hello" } }];
    const answer = await rpc.sendMessage({ message: { messageId: "m", role: Role.USER, parts } });
    expect(answer.payload.case).toBe("message");
    if (isHeavy) expect(own).not.toHaveBeenCalled();
    expect(AsyncResource.prototype.bind).toBe(spied);
    own.mockRestore();
  });
});
