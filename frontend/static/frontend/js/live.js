/**
 * One socket to the cluster's deltas, and the truth about it.
 *
 * The position (epoch, seq) moves only by frames that begin at or before it. Anything else, a `resync` frame, a
 * frame that skips ahead or another epoch, makes `catchUp` fetch the state anew; frames that arrive meanwhile wait.
 * A lost socket is opened again after a jittered, growing pause, from where it was; a session that ended is told
 * apart from a server that is away.
 */

import { request, signedOut } from "./dom.js";

const PAUSE = { first: 500, most: 15_000 };
const SILENCE = 40_000; // the server pings every 15 s
const FINAL = { 4401: "signed-out", 4403: "signed-out", 4404: "gone" }; // closing codes after which trying again is useless

export class Live extends EventTarget {
  /**
   * `catchUp()` resolves to the position it reached, or null to go on from what the server says next.
   * Emits "delta" {frame}, "reset" after a catch-up, and "status" {status: live | reconnecting | signed-out | gone}.
   */
  constructor({ socketUrl, probeUrl, catchUp, position = null }) {
    super();
    Object.assign(this, { socketUrl, probeUrl, catchUp, position, status: "connecting", attempts: 0, waiting: null });
    window.addEventListener("online", () => this.retry());
    document.addEventListener("visibilitychange", () => document.hidden || this.retry());
  }

  connect() {
    const url = new URL(this.socketUrl, location.href);
    url.protocol = location.protocol === "https:" ? "wss:" : "ws:";
    if (this.position) {
      url.searchParams.set("since", this.position.seq);
      url.searchParams.set("epoch", this.position.epoch);
    }
    this.socket = new WebSocket(url);
    this.greeted = false;
    this.socket.addEventListener("message", (event) => this.#receive(JSON.parse(event.data)));
    this.socket.addEventListener("close", (event) => this.#lost(event.code));
    this.#listen();
  }

  /** Tries again now instead of at the end of the pause. */
  retry() {
    if (this.status !== "reconnecting" || !this.timer) return;
    clearTimeout(this.timer);
    this.timer = null;
    this.connect();
  }

  #listen() {
    clearTimeout(this.watchdog);
    this.watchdog = setTimeout(() => this.socket.close(), SILENCE);
  }

  #receive(frame) {
    this.#listen();
    if (frame.type === "ping") this.#pong();
    else if (frame.type === "hello") this.#greet(frame);
    else if (frame.type === "resync") this.#resync();
    else if (frame.type === "delta") this.#delta(frame);
  }

  #pong() {
    this.attempts = 0;
    this.socket.send('{"type":"pong"}');
  }

  #greet(frame) {
    this.greeted = true;
    this.#tell("live");
    if (this.position?.epoch !== frame.epoch) this.#resync([], { epoch: frame.epoch, seq: frame.seq });
  }

  #delta(frame) {
    if (this.waiting) {
      this.waiting.push(frame);
    } else if (!this.#follows(frame)) {
      this.#resync([frame]);
    } else if (frame.to > this.position.seq) {
      this.attempts = 0;
      this.position.seq = frame.to;
      this.dispatchEvent(new CustomEvent("delta", { detail: frame }));
    }
  }

  #follows(frame) {
    return frame.epoch === this.position?.epoch && frame.from <= this.position.seq;
  }

  /**
   * Fetches the state anew; frames that come meanwhile are looked at again afterwards. `known` is where a page that
   * holds no state of its own goes on. What still does not follow then is left to a new connection.
   */
  async #resync(frames = [], known = null) {
    if (this.waiting) return;
    this.waiting = frames;
    try {
      const reached = await this.catchUp();
      const kept = this.waiting ?? [];
      this.waiting = null;
      const last = kept[kept.length - 1];
      this.#reset(reached ?? (last ? { epoch: last.epoch, seq: last.to } : known));
      if (kept.every((frame) => this.#follows(frame)) && this.position) kept.forEach((frame) => this.#delta(frame));
      else this.socket.close();
    } catch {
      this.waiting = null;
      this.socket.close();
    }
  }

  #reset(position) {
    this.position = position;
    this.dispatchEvent(new Event("reset"));
  }

  async #lost(code) {
    clearTimeout(this.watchdog);
    this.waiting = null;
    const end = FINAL[code] ?? (!this.greeted && (await this.#sessionEnded()) ? "signed-out" : null);
    if (end) {
      this.#tell(end);
      return;
    }
    this.#tell("reconnecting");
    const pause = Math.min(PAUSE.most, PAUSE.first * 2 ** this.attempts) * (0.5 + Math.random() / 2);
    this.attempts += 1;
    this.timer = setTimeout(() => {
      this.timer = null;
      this.connect();
    }, pause);
  }

  /** A refused handshake says nothing, so ask over HTTP. */
  async #sessionEnded() {
    try {
      return signedOut(await request(this.probeUrl, { method: "HEAD" }));
    } catch {
      return false;
    }
  }

  #tell(status) {
    if (status === this.status) return;
    this.status = status;
    this.dispatchEvent(new CustomEvent("status", { detail: status }));
  }
}
