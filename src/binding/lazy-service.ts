import { isLazy } from "../version/lazy-service.js";
import type { AnyServiceOptions, LazyServiceOptions, ServiceBindingOptions } from "./binding.js";

/** Whether options are for a service that is loaded with its first call. */
export function isLazyService(options: AnyServiceOptions): options is LazyServiceOptions {
  return isLazy(options.service);
}

/** Options for the service once it is loaded, and what answers its calls then. @throws whatever a failed import throws */
async function loadedOptions({ service: lazy, ...options }: LazyServiceOptions): Promise<ServiceBindingOptions> {
  const { service, translate, codes } = await lazy.load();
  return { ...options, service, invoke: translate(options.invoke), codes };
}

/** What a binding makes of a service when its first call comes. What has failed is tried again by the next call. */
export class OnFirstCall<T extends object> {
  readonly #options: LazyServiceOptions;
  readonly #make: (options: ServiceBindingOptions) => T;
  #made: T | undefined;
  #making: Promise<T> | undefined;

  constructor(options: LazyServiceOptions, make: (options: ServiceBindingOptions) => T) {
    this.#options = options;
    this.#make = make;
  }

  /** What was made, undefined until then. */
  get made(): T | undefined {
    return this.#made;
  }

  /** What is made, after the service is loaded. */
  make(): Promise<T> {
    this.#making ??= this.#load();
    return this.#making;
  }

  async #load(): Promise<T> {
    try {
      this.#made = this.#make(await loadedOptions(this.#options));
      return this.#made;
    } catch (error) {
      this.#making = undefined;
      throw error;
    }
  }
}
