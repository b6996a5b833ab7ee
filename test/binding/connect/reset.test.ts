import { connect } from "node:net";
import { create, toBinary } from "@bufbuild/protobuf";
import { expect, it } from "vitest";
import { A2AService, ListTasksRequestSchema, ListTasksResponseSchema } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { begun, frame, RST_STREAM, request } from "../../network/frames.js";
import { envelope } from "../../network/requests.js";
import { cleanup } from "../grpc/support.js";
import { serve } from "./support.js";

// Connect's handler costs a server far more for a call than a client spends to send and reset it.
it("has nothing to do with calls of gRPC that are reset with the bytes that make them [SRV-SEC-04]", async () => {
  const { h2, answers } = await serve(() => create(ListTasksResponseSchema));
  const { port, hostname, pathname } = new URL(h2);
  const headers = {
    ":path": `${pathname}/${A2AService.typeName}/ListTasks`,
    "content-type": "application/grpc",
    te: "trailers",
  };
  const body = envelope(toBinary(ListTasksRequestSchema, create(ListTasksRequestSchema)));
  const cancel = Buffer.from([0, 0, 0, 8]);
  const reset = [1, 3, 5].flatMap((stream) => [request(stream, headers, body), frame(RST_STREAM, 0, stream, cancel)]);
  const socket = connect(Number(port), hostname);
  cleanup(() => socket.destroy());
  socket.on("error", () => {});
  socket.write(Buffer.concat([begun, ...reset, request(7, headers, body)]));
  await expect.poll(() => answers.length, { timeout: 20_000 }).toBe(4);
  expect((await Promise.all(answers)).map(({ status }) => status)).toEqual([499, 499, 499, 200]);
});
