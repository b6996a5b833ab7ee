import { A2AError } from "../core/error.js";
import { lazyImport } from "../core/lazy.js";
import type { TaskNames } from "../task/task-names.js";
import { EMPTY_VERSION, parseVersion } from "../wire/service-params.js";
import { v01 } from "./v0.1/index.js";
import { v02 } from "./v0.2/index.js";
import { v03 } from "./v0.3/index.js";
import { v11 } from "./v1.1/index.js";
import { v1 } from "./v1.js";
import type { LoadedVersion, NativeVersion, ProtocolVersion } from "./version.js";

/** The loaded versions other than the native one, by name. */
export type LoadedVersions = ReadonlyMap<string, LoadedVersion>;

/**
 * The protocol versions of a server: the one list for bindings, cards and the check of `A2A-Version`. Lookups are
 * prepared when the server is created, not per call.
 */
export class Versions {
  /** The version of the service itself. */
  readonly native: NativeVersion;
  /** The other versions. If a call could be one of several, the first of them is chosen. */
  readonly others: readonly ProtocolVersion[];
  /** The known versions that are disabled. */
  readonly off: readonly ProtocolVersion[];
  /** Names of the enabled versions, the native one first, in the order of cards. */
  readonly names: readonly string[];
  /** The names as shown in errors. */
  readonly text: string;
  readonly #byName: ReadonlyMap<string, ProtocolVersion>;
  #loaded: LoadedVersions | undefined;
  /**
   * Loads all versions other than the native one. A listening server loads them in the background, and the first call
   * of one of them waits. After a failure the next call retries.
   *
   * @throws A2AError UNAVAILABLE while too many files are open
   */
  readonly ready: () => Promise<LoadedVersions> = lazyImport(() => this.#load());

  /** @throws TypeError for a name other than `Major.Minor`, or a duplicate */
  constructor(native: NativeVersion, others: readonly ProtocolVersion[] = [], off: readonly ProtocolVersion[] = []) {
    this.native = native;
    this.others = others;
    this.off = off;
    this.names = [native, ...others].map(({ name }) => name);
    this.text = this.names.join(", ");
    this.#byName = new Map(others.map((version) => [version.name, version]));
    for (const [i, name] of this.names.entries()) {
      if (parseVersion(name) !== name) throw new TypeError(`"${name}" is not a version: it must be Major.Minor`);
      if (this.names.indexOf(name) !== i) throw new TypeError(`version ${name} is registered twice`);
    }
  }

  /** The versions other than the native one; undefined until they are loaded. */
  get loaded(): LoadedVersions | undefined {
    return this.#loaded;
  }

  /** Loads one version at a time, because an import fails if too few file descriptors are free. */
  async #load(): Promise<LoadedVersions> {
    const loaded = new Map<string, LoadedVersion>();
    for (const version of this.others) loaded.set(version.name, await version.load());
    this.#loaded = loaded;
    return loaded;
  }

  /** Returns the versions with only the named ones enabled. The native one is always enabled. */
  only(names: readonly string[]): Versions {
    const isOn = ({ name }: ProtocolVersion): boolean => names.includes(name);
    const all = [...this.others, ...this.off];
    return new Versions(
      this.native,
      all.filter(isOn),
      all.filter((version) => !isOn(version)),
    );
  }

  /** Returns the versions with one more, which takes precedence over the others. */
  with(version: ProtocolVersion): Versions {
    return new Versions(this.native, [version, ...this.others], this.off);
  }

  /** Creates the names of tasks that clients choose (`ProtocolVersion.taskNames`), also if their version is disabled. */
  taskNames(maxReopens: number, keepsAll: boolean): TaskNames | undefined {
    const version = [...this.others, ...this.off].find(({ taskNames }) => taskNames !== undefined);
    return version?.taskNames?.(maxReopens, keepsAll);
  }

  /**
   * Returns true if a version uses the service's own cards and notifications: the native version, possibly with
   * additional fields.
   */
  isAsNative(name: string): boolean {
    return name === this.native.name || this.other(name)?.extendsNative === true;
  }

  /** Returns a version other than the native one, by its name. */
  other(name: string): ProtocolVersion | undefined {
    return this.#byName.get(name);
  }

  /**
   * Returns the name of the version that a value of `A2A-Version` requests; undefined if it is not enabled. A patch
   * number is ignored, and an empty value is 0.3 (specification 3.6, 3.6.2).
   */
  named(value: string): string | undefined {
    const name = parseVersion(value);
    return name !== undefined && this.names.includes(name) ? name : undefined;
  }

  /**
   * Returns the version of a call.
   *
   * @param asked the value of `A2A-Version`, or undefined
   * @param made the version implied by package, method or path, if the binding can tell
   * @throws A2AError VERSION_NOT_SUPPORTED for a version that is not enabled, and for a call that names another version
   * than the one it is made in
   */
  versionOf(asked: string | undefined, made: string | undefined): string {
    if (made !== undefined && (asked === undefined || asked === made)) return made;
    const value = asked ?? "";
    const used = made ?? this.native.name;
    const isUnnamed = value.trim() === "";
    const named = this.named(value);
    // Clients of versions older than the header send it empty, or not at all.
    if (isUnnamed && this.other(used)?.isUnnamed === true) return used;
    if (isUnnamed) throw this.#unnamed(used);
    if (named === undefined) throw this.unsupported(value);
    if (named !== used && this.names.includes(used)) throw this.contradicted(value, used);
    return named;
  }

  /** Returns the error for a version that is not enabled. It names the enabled ones. */
  unsupported(asked: string): A2AError {
    const shown = shownOf(asked);
    return this.#notSupported(shown, `A2A version ${shown} is not supported; supported: ${this.text}.`);
  }

  /** Returns the error for a call that names another version than the one it is made in. */
  contradicted(asked: string, used: string): A2AError {
    const shown = shownOf(asked);
    return this.#notSupported(shown, `The call names A2A version ${shown}, but uses a method or path of ${used}.`);
  }

  /** Returns the error for a call without a version, if the version is required. */
  #unnamed(used: string): A2AError {
    const why = `The call does not name a version, which means ${EMPTY_VERSION} (specification 3.6.2)`;
    return this.#notSupported(EMPTY_VERSION, `${why}: send A2A-Version: ${used} with it.`);
  }

  #notSupported(requestedVersion: string, message: string): A2AError {
    const metadata = { requestedVersion, supportedVersions: this.text };
    return new A2AError("VERSION_NOT_SUPPORTED", message, { metadata });
  }
}

function shownOf(asked: string): string {
  return asked.trim().slice(0, 32) || EMPTY_VERSION;
}

/** The default versions of every server. Add an older or newer version here. */
export const servedVersions: Versions = new Versions(v1, [v03, v02, v01]);

/** Draft versions, which an option enables. A final version moves to `servedVersions`. */
export const previews: Readonly<Record<"1.1", () => ProtocolVersion>> = { "1.1": v11 };
