/**
 * The cluster's time, running between frames at the cluster's own speed.
 *
 * `cluster_us` is the cluster's time at the wall instant `wall_us`. The clock stands still while the page is not
 * live: a time that nobody reports is not shown as if it were known.
 */

import { $, $$, setText } from "./dom.js";

const TICK = 250;

const pad = (number) => String(number).padStart(2, "0");

export function instantText(us, withSeconds) {
  const at = new Date(us / 1000);
  const day = `${at.getUTCFullYear()}-${pad(at.getUTCMonth() + 1)}-${pad(at.getUTCDate())}`;
  const minutes = `${pad(at.getUTCHours())}:${pad(at.getUTCMinutes())}`;
  return `${day} ${minutes}${withSeconds ? `:${pad(at.getUTCSeconds())}` : ""}`;
}

export class ClusterClock {
  constructor(root) {
    this.time = $("[data-clock-time]", root);
    this.speed = $("[data-clock-speed]", root);
    this.lag = $("[data-clock-lag]", root);
    const { clusterUs, wallUs, speed } = root.dataset;
    if (clusterUs) this.set({ cluster_us: Number(clusterUs), wall_us: Number(wallUs), speed: Number(speed) });
    this.running = true;
    setInterval(() => this.#show(), TICK);
  }

  set(clock, fleet = null) {
    this.clock = clock;
    setText(this.speed, speedText(clock.speed));
    setText(this.lag, fleet && !fleet.paused && fleet.lag_s >= 2 ? `${fleet.lag_s.toFixed(1)} s behind` : "");
    this.#show();
  }

  hold(held) {
    this.running = !held;
  }

  #show() {
    if (!this.clock || !this.running) return;
    const { cluster_us: cluster, wall_us: wall, speed } = this.clock;
    const now = cluster + Math.max(0, Date.now() * 1000 - wall) * speed;
    setText(this.time, instantText(now, speed <= 60));
    this.time?.setAttribute("datetime", new Date(now / 1000).toISOString());
  }
}

function speedText(speed) {
  if (speed === 0) return "paused";
  return speed === 1 ? "" : `${Number(speed.toFixed(2))}×`;
}

export const pageClocks = () => $$("[data-clock]").map((root) => new ClusterClock(root));
