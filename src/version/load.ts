import type { Serve } from "./serve.js";
import type { Dialects, ProtocolVersion } from "./version.js";

/** What is loaded already, of every server in the process. */
const loaded = new WeakMap<ProtocolVersion, Dialects>();
const loading = new WeakMap<ProtocolVersion, Promise<Dialects>>();

/** How a version is spoken, where that is loaded; else a promise of it. What fails is tried again by the next call. */
export function dialectsOf(version: ProtocolVersion): Dialects | Promise<Dialects> {
  const known = loaded.get(version) ?? loading.get(version);
  if (known !== undefined) return known;
  const dialects = version.load().then((each) => {
    loaded.set(version, each);
    return each;
  });
  loading.set(version, dialects);
  dialects.finally(() => loading.delete(version)).catch(() => {});
  return dialects;
}

/** The service as calls of a version have it. @param spoken the names of all versions that are served */
export function translated({ translate }: Dialects, service: Serve, spoken: readonly string[]): Serve {
  return translate?.(service, spoken) ?? service;
}

/** What a binding makes of versions, when calls first need them. */
export class PerVersion<T extends object> {
  readonly #make: (dialects: Dialects, version: ProtocolVersion) => T;
  readonly #made = new Map<ProtocolVersion, T>();

  constructor(make: (dialects: Dialects, version: ProtocolVersion) => T) {
    this.#make = make;
  }

  /** What was made of a version, or is made now; a promise where its dialects have to be loaded first. */
  get(version: ProtocolVersion): T | Promise<T> {
    const made = this.#made.get(version);
    if (made !== undefined) return made;
    const dialects = dialectsOf(version);
    return dialects instanceof Promise ? dialects.then((each) => this.#of(each, version)) : this.#of(dialects, version);
  }

  #of(dialects: Dialects, version: ProtocolVersion): T {
    const made = this.#made.get(version) ?? this.#make(dialects, version);
    this.#made.set(version, made);
    return made;
  }
}

/** What answers the calls of a version, whose translator is loaded with the first of them. */
export function servedIn(version: ProtocolVersion, service: Serve, spoken: readonly string[]): Serve {
  const serves = new PerVersion((dialects) => ({ serve: translated(dialects, service, spoken) }));
  return (asked) => {
    const made = serves.get(version);
    return made instanceof Promise ? made.then(({ serve }) => serve(asked)) : made.serve(asked);
  };
}
