import { Dispatcher } from "./dispatcher.js";
import type { DispatcherOptions } from "./dispatcher-options.js";
import { memoized } from "./memoize.js";
import type { PushOptions } from "./options.js";
import { ConfigVault } from "./secrets.js";
import { TargetGuard } from "./target/guard.js";
import { createPoster } from "./target/post.js";

/** Parts that a server provides for its dispatcher. The others follow from the options. */
interface DispatcherParts extends Omit<DispatcherOptions, "events" | "poster" | "parse" | "open"> {
  readonly options: PushOptions;
}

/** Creates a dispatcher with its dependencies. A server imports this file only when it sends notifications. */
export function createDispatcher({ options, ...parts }: DispatcherParts): Dispatcher {
  const { limits } = parts;
  const guard = new TargetGuard(options);
  const vault = new ConfigVault(options.encryptionKeys ?? []);
  return new Dispatcher({
    ...parts,
    events: options.events,
    poster: createPoster({ ...options, limits }),
    // Can be cached: the rules do not change.
    parse: memoized((url) => guard.parse(url)),
    open: (key, bytes) => vault.open(key, bytes),
  });
}
