import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { A2AService } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { A2AError, isCallOf, isStream, type ServiceInterceptor } from "../../src/index.js";
import { memoryStore } from "../../src/store/memory/index.js";
import type { Driver } from "../support/driver.js";
import { bindings } from "../support/drivers.js";
import { obedient } from "./agents.js";
import { patience } from "./run.js";
import { setups } from "./setups.js";
import { serve } from "./worlds.js";

vi.setConfig({ testTimeout: patience });

const { authenticator } = setups.owners;
const alice = { headers: { authorization: "Bearer alice" } };
const say = (text: string) => ({ message: { messageId: "m", role: "ROLE_USER", parts: [{ text }] } });

describe.each(bindings.map((binding) => [binding.name, binding] as const))("interceptors over %s", (_name, binding) => {
  const seen: string[] = [];
  let driver: Driver;
  let close = async (): Promise<void> => {};

  const watch: ServiceInterceptor = (next) => async (invocation) => {
    const { call, method } = invocation;
    const line = `${call.caller.owner} ${method.name}`;
    try {
      const answer = await next(invocation);
      if (!isStream(answer)) {
        seen.push(`${line}: ${answer.$typeName}`);
        return answer;
      }
      return (async function* () {
        let events = 0;
        for await (const event of answer) {
          events++;
          yield event;
        }
        seen.push(`${line}: ${events} events`);
      })();
    } catch (error) {
      seen.push(`${line}: ${(error as A2AError).reason}`);
      throw error;
    }
  };

  const change: ServiceInterceptor = (next) => (invocation) => {
    if (!isCallOf(invocation, A2AService.method.sendMessage)) return next(invocation);
    const content = invocation.request.message?.parts[0]?.content;
    if (content?.case !== "text") return next(invocation);
    if (content.value === "forbidden") {
      throw new A2AError("PERMISSION_DENIED", "Not this word.", { headers: { "content-length": "3" } });
    }
    if (content.value === "broken") throw new Error("secret: the password is hunter2");
    if (content.value === "say once") content.value = "say twice";
    const { responseHeaders } = invocation.call;
    responseHeaders.set("x-changed", "yes");
    // Headers that an interceptor may copy from another server's answer.
    const others = {
      "content-length": "5",
      "transfer-encoding": "chunked",
      connection: "close",
      "Content-Type": "text/x",
    };
    for (const [name, value] of Object.entries({ ...others, "grpc-status": "5", "content-encoding": "br" })) {
      responseHeaders.set(name, value);
    }
    return next(invocation);
  };

  beforeAll(async () => {
    const setup = { agent: obedient("watched"), authenticator, interceptors: [watch, change] };
    const { server, address } = await serve(setup, memoryStore());
    driver = binding.connect(address);
    close = async () => {
      driver.close();
      await server.close();
    };
  });
  afterAll(() => close());

  it("see the caller, the method, the answer and the end of a stream", async () => {
    seen.length = 0;
    await driver.call("SendMessage", say("say hello"), alice);
    await driver.call("GetTask", { id: "unknown" }, alice);
    const stream = await driver.stream("SendStreamingMessage", say("progress 2"), alice);
    const { messages } = await stream.rest();
    expect(seen).toEqual([
      "alice SendMessage: lf.a2a.v1.SendMessageResponse",
      "alice GetTask: TASK_NOT_FOUND",
      `alice SendStreamingMessage: ${messages.length} events`,
    ]);
  });

  it("change the request and the headers of the answer", async () => {
    const { message, headers } = await driver.call("SendMessage", say("say once"), alice);
    expect(JSON.stringify(message)).toContain("twice");
    expect(headers["x-changed"]).toBe("yes");
  });

  it("refuse a call; what else they throw is an internal error", async () => {
    const refused = await driver.call("SendMessage", say("forbidden"), alice);
    expect(refused.error).toMatchObject({ reason: "PERMISSION_DENIED", message: "Not this word." });
    const broken = await driver.call("SendMessage", say("broken"), alice);
    expect(broken.error?.reason).toBe("INTERNAL");
    expect(JSON.stringify(broken)).not.toContain("hunter2");
  });

  it("are not asked about callers without credentials", async () => {
    seen.length = 0;
    expect((await driver.call("SendMessage", say("say hello"))).error?.reason).toBe("UNAUTHENTICATED");
    expect(seen).toEqual([]);
  });
});
