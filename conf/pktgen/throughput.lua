-- SPDX-License-Identifier: Apache-2.0
-- Throughput by RFC 2544, section 26.1, for Pktgen-DPDK. Port 0 sends, port 1 receives.
--
--   pktgen -l 0,1 --no-pci --no-huge -m 3000 --single-file-segments \
--       --vdev=net_virtio_user0,path=/run/weir/pktgen0.sock \
--       --vdev=net_virtio_user1,path=/run/weir/pktgen1.sock \
--       -- -P -m "1.[0-1]" -f conf/pktgen/throughput.lua
--
-- The switch is `weir --allow-vdev -c conf/pktgen/vhost.yaml`. PKTGEN_SECONDS, PKTGEN_LOSS and PKTGEN_SIZES in
-- the environment change the trials.
--
-- Rates are in per cent of the speed that the port reports, 10 Gb/s for net_virtio_user. Pktgen
-- offers a frame again until the ring takes it, so a device that is too slow shows as a rate that is
-- not reached, not as loss. A trial counts only if the rate was reached.
--
-- Run with Pktgen-DPDK 23.06.1 on DPDK 22.11. Results are in pktgen-throughput.txt.

package.path = package.path .. ";?.lua;test/?.lua;app/?.lua"
require "Pktgen"

local sizes = os.getenv("PKTGEN_SIZES") or "64 128 256 512 1024 1280 1518" -- bytes with FCS
local seconds = tonumber(os.getenv("PKTGEN_SECONDS") or "2")
local loss_limit = tonumber(os.getenv("PKTGEN_LOSS") or "0") -- per cent
local steps = 7 -- bisections
local reached = 0.98 -- of the rate that was asked for
local overhead = 20 -- bytes of preamble and gap

local file = io.open("pktgen-throughput.txt", "w")

local function say(text)
	file:write(text .. "\n")
	file:flush()
	print(text)
end

local function link_bps()
	local state = pktgen.linkState("0")[0]
	return tonumber(string.match(state, "%d+")) * 1e6
end

local function setup()
	pktgen.screen("off")
	pktgen.set("all", "burst", 32)
	pktgen.set_type("all", "ipv4")
	pktgen.set_proto("all", "udp")
	pktgen.set_mac("0", "src", "02:00:01:00:00:00")
	pktgen.set_mac("0", "dst", "02:00:02:00:00:00")
	pktgen.set_mac("1", "src", "02:00:02:00:00:00")
	pktgen.set_mac("1", "dst", "02:00:01:00:00:00")
	pktgen.set_ipaddr("0", "src", "198.18.0.1/24")
	pktgen.set_ipaddr("0", "dst", "198.19.0.1")
	pktgen.set_ipaddr("1", "src", "198.19.0.1/24")
	pktgen.set_ipaddr("1", "dst", "198.18.0.1")
end

-- The device learns the address behind each port.
local function learn()
	pktgen.set("all", "rate", 1)
	pktgen.set("all", "count", 16)
	pktgen.start("all")
	pktgen.delay(500)
	pktgen.stop("all")
end

local function trial(size, rate)
	local fps = link_bps() * rate / 100 / ((size + overhead) * 8)

	pktgen.clr()
	pktgen.set("0", "size", size)
	pktgen.set("0", "rate", rate)
	pktgen.set("0", "count", 0)
	pktgen.start("0")
	pktgen.delay(math.floor(seconds * 1000))
	pktgen.stop("0")
	pktgen.delay(500)
	local tx = pktgen.portStats("0", "port")[0].opackets
	local rx = pktgen.portStats("1", "port")[1].ipackets
	local loss = tx > 0 and 100 * (tx - rx) / tx or 100
	local good = tx >= fps * seconds * reached and loss <= loss_limit

	say(string.format("%5d B  %6.2f %%  %9.3f Mpps  sent %d  received %d  lost %d  %s", size,
		rate, fps / 1e6, tx, rx, tx - rx, good and "ok" or "missed"))
	return good
end

local function throughput(size)
	local low, high, rate = 0, 100, 100

	for _ = 0, steps do
		if trial(size, rate) then
			low = rate
		else
			high = rate
		end
		if low == high then
			break
		end
		rate = (low + high) / 2
	end
	say(string.format("%5d B  throughput %.2f %% of %.0f Gb/s", size, low, link_bps() / 1e9))
end

setup()
learn()
for size in string.gmatch(sizes, "%d+") do
	throughput(tonumber(size))
end
file:close()
pktgen.quit()
