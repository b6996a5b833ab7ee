import { A2AError } from "../core/error.js";
import { EMPTY_VERSION, parseVersion } from "../wire/service-params.js";
import { v1 } from "./v1.js";
import type { NativeVersion, ProtocolVersion } from "./version.js";

/**
 * The versions of the protocol that a server speaks: the one list that bindings, cards and the check of `A2A-Version` go
 * by. What is found in it is found when a server is made, not in every call.
 */
export class Versions {
  /** The version of the service itself. */
  readonly native: NativeVersion;
  /** All of them, the native one first: the order of cards, and of who is preferred where a call names none. */
  readonly all: readonly ProtocolVersion[];
  readonly names: readonly string[];
  /** The same, as errors show them. */
  readonly text: string;

  /** @throws TypeError for a name that is no `Major.Minor`, or that two of them have. */
  constructor(native: NativeVersion, ...others: readonly ProtocolVersion[]) {
    this.native = native;
    this.all = [native, ...others];
    this.names = this.all.map(({ name }) => name);
    this.text = this.names.join(", ");
    for (const [i, name] of this.names.entries()) {
      if (parseVersion(name) !== name) throw new TypeError(`"${name}" is no version: it has to be Major.Minor`);
      if (this.names.indexOf(name) !== i) throw new TypeError(`version ${name} is registered twice`);
    }
  }

  /**
   * The name of the version that a value of `A2A-Version` asks for, undefined where it is not spoken here. A patch number
   * is not considered, an empty value is 0.3 (specification 3.6, 3.6.2).
   */
  named(value: string): string | undefined {
    const name = parseVersion(value);
    return name !== undefined && this.names.includes(name) ? name : undefined;
  }

  /** The error for a version that is not spoken here; it names those that are. */
  unsupported(asked: string): A2AError {
    const shown = shownOf(asked);
    return this.#refused(shown, `A2A version ${shown} is not supported; supported: ${this.text}.`);
  }

  /** The error for a call that is one of another version than it says. */
  contradicted(asked: string, spoken: string): A2AError {
    const shown = shownOf(asked);
    return this.#refused(shown, `The call names A2A version ${shown}, but this is how one of ${spoken} is made.`);
  }

  #refused(requestedVersion: string, message: string): A2AError {
    const metadata = { requestedVersion, supportedVersions: this.text };
    return new A2AError("VERSION_NOT_SUPPORTED", message, { metadata });
  }
}

function shownOf(asked: string): string {
  return asked.trim().slice(0, 32) || EMPTY_VERSION;
}

/** What every server speaks. An older or newer version is added here. */
export const servedVersions: Versions = new Versions(v1);
