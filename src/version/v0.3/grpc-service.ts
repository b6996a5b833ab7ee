import type { DescMethod, Message } from "@bufbuild/protobuf";
import { A2AService } from "../../../gen/a2a/v1/a2a_pb.js";
import { StatusCode } from "../../core/error.js";
import { carry } from "../../wire/marks.js";
import { mapAnswer, type Serve } from "../serve.js";
import type { ErrorCodes, LoadedService } from "../version.js";
import { behave } from "./behaviour.js";
import { filesAsText } from "./file-text.js";
import { explained } from "./grpc-errors.js";
import { fromNative, methodPairs, toNative } from "./messages.js";

/** The conversion between a method of 0.3 and the service's. */
interface Translation {
  readonly native: DescMethod;
  readonly up: (request: Message) => Message;
  readonly down: (answer: Message) => Message;
}

const translations: ReadonlyMap<string, Translation> = new Map(
  methodPairs.map(({ earlier, native }) => {
    const convert = fromNative(native.output, earlier.output);
    const down = (answer: Message): Message => carry(answer, convert(answer));
    return [earlier.name, { native, up: toNative(earlier.input, native.input), down }];
  }),
);

/** Converts calls to 1.0 and their responses back, with the behaviour of 0.3 in between. */
function translate(service: Serve): Serve {
  const behaving = filesAsText(behave(service));
  return async ({ method, request, call }) => {
    const { native, up, down } = translations.get(method.name) as Translation;
    try {
      const answer = await behaving({ method: native, request: up(request), call });
      return mapAnswer(answer, down);
    } catch (error) {
      throw explained(error, method);
    }
  };
}

/** Codes used by its servers that differ from 1.0. The documents of 0.3 define none. */
const codes: ErrorCodes = {
  PUSH_NOTIFICATION_NOT_SUPPORTED: StatusCode.UNIMPLEMENTED,
  UNSUPPORTED_OPERATION: StatusCode.UNIMPLEMENTED,
  EXTENSION_SUPPORT_REQUIRED: StatusCode.UNIMPLEMENTED,
};

export const loadedService: LoadedService = { service: A2AService, translate, codes };
