import { A2AError } from "../core/error.js";
import { EMPTY_VERSION, parseVersion } from "../wire/service-params.js";
import { v01 } from "./v0.1/index.js";
import { v02 } from "./v0.2/index.js";
import { v03 } from "./v0.3/index.js";
import { v11 } from "./v1.1/index.js";
import { v1 } from "./v1.js";
import type { LoadedVersion, NativeVersion, ProtocolVersion } from "./version.js";

/** Versions beside the native one by their names. */
export type LoadedVersions = ReadonlyMap<string, LoadedVersion>;

/**
 * The protocol versions of a server: the one list for bindings, cards and the check of `A2A-Version`. Lookups are
 * prepared when the server is created, not per call.
 */
export class Versions {
  /** The version of the service itself. */
  readonly native: NativeVersion;
  /** The versions beside it, those that are preferred where a call of several is recognised first. */
  readonly others: readonly ProtocolVersion[];
  /** Those that are known, and switched off. */
  readonly off: readonly ProtocolVersion[];
  /** The native one first: the order of cards. */
  readonly names: readonly string[];
  /** The same, as errors show them. */
  readonly text: string;
  readonly #byName: ReadonlyMap<string, ProtocolVersion>;
  #loading: Promise<LoadedVersions> | undefined;
  #loaded: LoadedVersions | undefined;

  /** @throws TypeError for a name other than `Major.Minor`, or for a duplicate. */
  constructor(native: NativeVersion, others: readonly ProtocolVersion[] = [], off: readonly ProtocolVersion[] = []) {
    this.native = native;
    this.others = others;
    this.off = off;
    this.names = [native, ...others].map(({ name }) => name);
    this.text = this.names.join(", ");
    this.#byName = new Map(others.map((version) => [version.name, version]));
    for (const [i, name] of this.names.entries()) {
      if (parseVersion(name) !== name) throw new TypeError(`"${name}" is no version: it has to be Major.Minor`);
      if (this.names.indexOf(name) !== i) throw new TypeError(`version ${name} is registered twice`);
    }
  }

  /** The versions beside the native one; undefined until they are loaded. */
  get loaded(): LoadedVersions | undefined {
    return this.#loaded;
  }

  /**
   * Loads the versions beside the native one, all of them. A server that listens does so in the background; the first call of one of them
   * waits for it. The next call tries again after a failure.
   *
   * @throws A2AError UNAVAILABLE while too many files are open
   */
  ready(): Promise<LoadedVersions> {
    if (this.#loading === undefined) {
      this.#loading = this.#load();
      this.#loading.catch(() => {
        this.#loading = undefined;
      });
    }
    return this.#loading;
  }

  /** One version after the other: an import is given up where too few files can be opened for one. */
  async #load(): Promise<LoadedVersions> {
    const loaded = new Map<string, LoadedVersion>();
    for (const version of this.others) loaded.set(version.name, await version.load());
    this.#loaded = loaded;
    return loaded;
  }

  /** The same with some of the versions alone; the native one is always among them. */
  only(names: readonly string[]): Versions {
    const isOn = ({ name }: ProtocolVersion): boolean => names.includes(name);
    const all = [...this.others, ...this.off];
    return new Versions(
      this.native,
      all.filter(isOn),
      all.filter((version) => !isOn(version)),
    );
  }

  /** The same with one more, which is preferred to the others. */
  with(version: ProtocolVersion): Versions {
    return new Versions(this.native, [version, ...this.others], this.off);
  }

  /**
   * True if a version uses the service's own cards and notifications: the native version, possibly with additional
   * fields.
   */
  isAsNative(name: string): boolean {
    return name === this.native.name || this.other(name)?.extendsNative === true;
  }

  /** A version beside the native one, by its name. */
  other(name: string): ProtocolVersion | undefined {
    return this.#byName.get(name);
  }

  /**
   * The name of the version that a value of `A2A-Version` asks for, undefined where it is not spoken here. A patch number
   * is not considered, an empty value is 0.3 (specification 3.6, 3.6.2).
   */
  named(value: string): string | undefined {
    const name = parseVersion(value);
    return name !== undefined && this.names.includes(name) ? name : undefined;
  }

  /**
   * The version of a call.
   *
   * @param asked the value of `A2A-Version`, or undefined
   * @param made the version that package, method or path of the call belong to, where the binding can tell
   * @throws A2AError VERSION_NOT_SUPPORTED for a version that is not spoken here, and for a call that is made as another
   * version has it than it says.
   */
  versionOf(asked: string | undefined, made: string | undefined): string {
    if (made !== undefined && (asked === undefined || asked === made)) return made;
    const value = asked ?? "";
    const spoken = made ?? this.native.name;
    const isUnnamed = value.trim() === "";
    const named = this.named(value);
    // Clients of versions from before the header send it empty, or not at all.
    if (isUnnamed && this.other(spoken)?.isUnnamed === true) return spoken;
    if (isUnnamed) throw this.#unnamed(spoken);
    if (named === undefined) throw this.unsupported(value);
    if (named !== spoken && this.names.includes(spoken)) throw this.contradicted(value, spoken);
    return named;
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

  /** The error for a call of a version that has to be named, and is not. */
  #unnamed(spoken: string): A2AError {
    const why = `The call names no version, which stands for ${EMPTY_VERSION} (specification 3.6.2)`;
    return this.#refused(EMPTY_VERSION, `${why}: send A2A-Version: ${spoken} with it.`);
  }

  #refused(requestedVersion: string, message: string): A2AError {
    const metadata = { requestedVersion, supportedVersions: this.text };
    return new A2AError("VERSION_NOT_SUPPORTED", message, { metadata });
  }
}

function shownOf(asked: string): string {
  return asked.trim().slice(0, 32) || EMPTY_VERSION;
}

/** The default versions of every server. An older or newer version is added here. */
export const servedVersions: Versions = new Versions(v1, [v03, v02, v01]);

/** Drafts, which are spoken where an option asks for them. One that is final moves to `servedVersions`. */
export const previews: Readonly<Record<"1.1", () => ProtocolVersion>> = { "1.1": v11 };
