--- A cache that forgets.
local json = require("json")
local util = require "app.util"

local CAPACITY_MAX = 64
VERSION = "1.2"

local Cache = {}
Cache.__index = Cache

--- Make one.
function Cache.new(size)
  local self = setmetatable({}, Cache)
  self.size = size or CAPACITY_MAX
  return self
end

-- Keep a value.
function Cache:put(key, value)
  local function trim(text)
    return text:gsub("^%s+", "")
  end
  self.items[trim(key)] = json.encode(value)
  util.log.write("kept", key)
end

Cache.get = function(self, key)
  return self.items[key]
end

local handlers = {
  on_open = function(event)
    print(event)
  end,
  timeout = 3,
}

local function evict(cache)
  cache:clear()
end

local once = function() return 1 end

function main()
  Cache.new(3):put("a", 1)
end

return Cache
